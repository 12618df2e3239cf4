import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import {
  changedLines,
  commitCount,
  expectNothingWritten,
  expectRefused,
  lastCommit,
} from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import {
  APP_DEFAULTS,
  appRecord,
  FULL_APP,
  INVALID_NAMES,
  NOT_JSON,
  NOT_OBJECTS,
  REASON,
} from './expected.ts';

const UPDATE = '/api/v2/apps/web/update';
/** The file of `FULL_APP`, in another style than the API would write. */
const FULL_FILE = `container_image: "registry.example.com:5000/shop/web:1.26"
starting_ports: [ 80, {'8443': "443"} ]
containers_per: {cpu: 0.5}
env_vars:   # seen by the container
    EMPTY: ''
    GREETING: 'hello: "world" # no comment'
running: false
volumes:
- /srv/data:/data
- '/etc/hosts:/etc/hosts:ro'
networks: [bridge]
devices: ["/dev/usb:/dev/usb", "/dev/tty0:/dev/tty0:rw"]
privileged: true
rolling_restart: true
`;

describe('docs/contract.md, 4.2: update', () => {
  const manager = suiteManager({ files: { ...SMALL_FLEET, 'apps/full.yaml': FULL_FILE } });

  it('Rule 2: POST .../update overwrites all parameters at once: 202 with the app record', async () => {
    const { body: before } = await manager().get('/api/v2/apps/web');
    const reply = await manager().post(UPDATE, { ...FULL_APP, container_image: 'other:2' });
    expect(reply.status).toBe(202);
    const fields = { ...FULL_APP, container_image: 'other:2' };
    expect(reply.body).toEqual(appRecord('web', fields, before.app_id + 1));
    expect(reply.body._id).toEqual(before._id);
    expect((await manager().get('/api/v2/apps/web')).body).toEqual(reply.body);
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('Rule 2: omitted parameters revert to their defaults', async () => {
    const reply = await manager().post(UPDATE, { container_image: 'plain:3' });
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(appRecord('web', { container_image: 'plain:3' }));
    expect(await manager().repository.show('desired-state/apps/web.yaml')).toBe(
      '# the web server\ncontainer_image: plain:3\n',
    );
  });

  it.each(['PUT', 'PATCH'])('Rule 3: parameters not sent keep their values: %s', async (method) => {
    const { body: before } = await manager().get('/api/v2/apps/full');
    const body = { container_image: `shop/web:${method}` };
    const reply = await manager().request(method, '/api/v2/apps/full/update', { body });
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(appRecord('full', { ...FULL_APP, ...body }, before.app_id + 1));
    expect(await changedLines(manager().repository, 'desired-state/apps/full.yaml')).toHaveLength(2);
  });

  it.each(Object.entries(FULL_APP))(
    'Rule 3: any combination of parameters: %s alone',
    async (field, value) => {
      const name = `one-${field.replaceAll('_', '-')}`;
      await manager().post(`/api/v2/apps/${name}`, { container_image: 'one:1' });
      const reply = await manager().put(`/api/v2/apps/${name}/update`, { [field]: value });
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual(appRecord(name, { container_image: 'one:1', [field]: value }, 2));
    },
  );

  it('State any: POST or PUT update sets running as given in the body', async () => {
    expect((await manager().put('/api/v2/apps/cron/update', { running: true })).body.running).toBe(true);
    const body = { container_image: 'cron:3', running: false };
    expect((await manager().post('/api/v2/apps/cron/update', body)).body.running).toBe(false);
  });
});

describe('docs/contract.md, 4.2 and 5.4: update', () => {
  const manager = suiteManager({ files: { ...SMALL_FLEET, 'apps/full.yaml': FULL_FILE } });

  it.each([...NOT_JSON, ...NOT_OBJECTS])(
    'Body absent, empty, not JSON, or no object, on full update: %s',
    async (_, body) => {
      const reply = await expectRefused(manager(), 400, () =>
        sendRaw(manager(), { method: 'POST', path: UPDATE, headers: JSON_TYPE, body }),
      );
      expect(reply.body).toEqual({ missing_parameters: ['container_image'] });
    },
  );

  it('container_image absent and other fields bad, on full update: one 400 with both', async () => {
    const body = { env_vars: { A: 1 }, docker_image: 'x' };
    const reply = await expectRefused(manager(), 400, () => manager().post(UPDATE, body));
    expect(reply.body).toEqual({
      missing_parameters: ['container_image'],
      invalid_parameters: { env_vars: REASON, docker_image: REASON },
    });
  });

  it.each([
    ['PUT', 'an absent body', undefined],
    ['PATCH', 'an absent body', undefined],
    ['PUT', 'an empty object', '{}'],
    ['PATCH', 'an empty object', '{}'],
    ['PUT', 'ignored parameters', '{"app_name":"other","app_id":99,"_id":{"$oid":"x"}}'],
  ])('Partial update with no parameters, or with ignored ones only: %s with %s', async (method, _, body) => {
    const reply = await expectRefused(manager(), 400, () =>
      sendRaw(manager(), { method, path: UPDATE, headers: JSON_TYPE, body }),
    );
    expect(reply.body).toEqual({ missing_parameters: REASON });
  });

  it.each([...NOT_JSON.slice(3), ...NOT_OBJECTS])(
    'Partial update with a body that is not a JSON object: 400: %s',
    async (_, body) => {
      const reply = await expectRefused(manager(), 400, () =>
        sendRaw(manager(), { method: 'PUT', path: UPDATE, headers: JSON_TYPE, body: body ?? '' }),
      );
      expect(reply.body).toBeTypeOf('object');
    },
  );

  it.each([
    ['container_image', null],
    ['running', null],
    ['containers_per', { cpu: 1e20 }],
    ['docker_image', 'nginx'],
    ['app_ids', 3],
  ])('Wrong type or range, unknown field, on partial update: %s %j', async (field, value) => {
    const body = { rolling_restart: true, [field]: value };
    const reply = await expectRefused(manager(), 400, () => manager().put(UPDATE, body));
    expect(reply.body).toEqual({ invalid_parameters: { [field]: REASON } });
  });

  it.each(['POST', 'PUT', 'PATCH'])('update of an unknown app: 403 app_exists: false: %s', async (method) => {
    const body = { container_image: 'x' };
    const reply = await expectRefused(manager(), 403, () =>
      manager().request(method, '/api/v2/apps/nope/update', { body }),
    );
    expect(reply.body).toEqual({ app_exists: false });
  });

  it.each(INVALID_NAMES)('Names: anything else is 400 on update: %s', async (_, name) => {
    const reply = await sendRaw(manager(), {
      method: 'PUT',
      path: `/api/v2/apps/${name}/update`,
      headers: JSON_TYPE,
      body: '{"running":false}',
    });
    expect(reply.status).toBe(400);
  });

  it.each([
    ['POST', 'the record as it was read', 'full', null],
    ['PUT', 'the record as it was read', 'full', null],
    ['POST', 'the fields of the file', 'full', FULL_APP],
    [
      'PUT',
      'one field that the file has in another style',
      'full',
      { container_image: FULL_APP.container_image },
    ],
    ['PUT', 'a map in another order', 'full', { env_vars: FULL_APP.env_vars }],
    ['PUT', 'defaults that the file omits', 'web', { running: true, networks: ['nebula', 'bridge'] }],
    ['POST', 'defaults written out', 'cron', { container_image: 'cron:3', running: false, volumes: [] }],
  ])(
    'an update that changes nothing: 202 with the record as it is: no commit, same app_id: %s with %s',
    async (method, _, name, fields) => {
      const path = `/api/v2/apps/${name}`;
      const { body: record } = await manager().get(path);
      const reply = await expectNothingWritten(manager(), () =>
        manager().request(method, `${path}/update`, { body: fields ?? record }),
      );
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual(record);
    },
  );

  it('an update that changes nothing: a full update keeps defaults that the file spells out', async () => {
    const text = 'container_image: spelled:1\nrunning: true # on purpose\nvolumes: []\n';
    await manager().repository.commit({ 'desired-state/apps/spelled.yaml': text });
    await manager().reconcile();
    const reply = await expectNothingWritten(manager(), () =>
      manager().post('/api/v2/apps/spelled/update', { container_image: 'spelled:1' }),
    );
    expect(reply.status).toBe(202);
    expect(await manager().repository.show('desired-state/apps/spelled.yaml')).toBe(text);
  });

  it('a partial update can set every field back to its default', async () => {
    await manager().repository.commit({ 'desired-state/apps/back.yaml': FULL_FILE });
    await manager().reconcile();
    const reply = await manager().put('/api/v2/apps/back/update', APP_DEFAULTS);
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(appRecord('back', { container_image: FULL_APP.container_image }, 2));
  });

  it('app_id: +1 for each change: a new order of ports counts, a new order of variables does not', async () => {
    await manager().post('/api/v2/apps/order', {
      container_image: 'a',
      starting_ports: [1, 2],
      env_vars: { A: '1', B: '2' },
    });
    const put = async (body: object) => (await manager().put('/api/v2/apps/order/update', body)).body.app_id;
    expect(await put({ starting_ports: [2, 1] })).toBe(2);
    expect(await put({ env_vars: { B: '2', A: '1' } })).toBe(2);
    expect(await put({ env_vars: { B: '2' } })).toBe(3);
    expect(await put({ env_vars: {} })).toBe(4);
    expect(await put({ container_image: 'a' })).toBe(4);
  });

  it('app_name in a body renames nothing', async () => {
    const commits = await commitCount(manager().repository);
    const reply = await manager().put('/api/v2/apps/cron/update', {
      app_name: 'clock',
      rolling_restart: true,
    });
    expect(reply.body.app_name).toBe('cron');
    expect((await manager().get('/api/v2/apps')).body.apps).not.toContain('clock');
    expect(await commitCount(manager().repository)).toBe(commits + 1);
    expect((await lastCommit(manager().repository)).files).toEqual(['M desired-state/apps/cron.yaml']);
  });

  it.each([
    ['with "constructor" as a key', '{"constructor":1}'],
    ['nested a hundred levels deep', '['.repeat(100) + ']'.repeat(100)],
  ])('_id in a body is ignored, even %s', async (_, value) => {
    const raw = `{"container_image":"kept:1","_id":${value}}`;
    const reply = await manager().put('/api/v2/apps/cron/update', undefined, { raw });
    expect([reply.status, reply.body.container_image]).toEqual([202, 'kept:1']);
  });
});
