import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { commitCount, expectRefused, lastCommit } from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord, FULL_APP, INVALID_NAMES, NOT_JSON, NOT_OBJECTS, REASON } from './expected.ts';

describe('api-v2.md: 4. Endpoints, POST /api/v2/apps/{app_name}', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('App fields without app_name, app_id and _id: 200 with the app record', async () => {
    const before = await commitCount(manager().repository);
    const reply = await manager().post('/api/v2/apps/full', FULL_APP);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord('full', FULL_APP, 1));
    expect((await manager().get('/api/v2/apps/full')).body).toEqual(reply.body);
    expect((await manager().get('/api/v2/apps')).body.apps).toContain('full');
    expect(await commitCount(manager().repository)).toBe(before + 1);
    expect((await lastCommit(manager().repository)).files).toEqual(['A desired-state/apps/full.yaml']);
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('Required: container_image. The rest are optional: omitted ones take their defaults', async () => {
    const reply = await manager().post('/api/v2/apps/bare', { container_image: 'bare' });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord('bare', { container_image: 'bare' }, 1));
  });

  it('State (none): running as supplied in the body', async () => {
    const reply = await manager().post('/api/v2/apps/idle', { container_image: 'idle:1', running: false });
    expect(reply.body).toEqual(appRecord('idle', { container_image: 'idle:1', running: false }, 1));
  });

  it('names an empty key in what it says of it', async () => {
    const body = { container_image: 'x', env_vars: { '': 'x' } };
    expect((await manager().post('/api/v2/apps/bad', body)).body).toEqual({
      invalid_parameters: {
        env_vars: '"" is not a valid variable name, which is not empty and contains no "="',
      },
    });
  });

  it('403 app_exists: true when the name exists, and it stays what it was', async () => {
    const reply = await expectRefused(manager(), 403, () => manager().post('/api/v2/apps/web', FULL_APP));
    expect(reply.body).toEqual({ app_exists: true });
  });
});

describe('decisions.md: Apps, create', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([...NOT_JSON, ...NOT_OBJECTS])(
    'Body absent, empty, not JSON, or no object: %s',
    async (_, body) => {
      const reply = await expectRefused(manager(), 400, () =>
        sendRaw(manager(), { method: 'POST', path: '/api/v2/apps/fresh', headers: JSON_TYPE, body }),
      );
      expect(reply.body).toEqual({ missing_parameters: ['container_image'] });
    },
  );

  it.each([
    ['an empty object', {}],
    ['only optional fields', { running: true, privileged: false }],
    ['only ignored fields', { app_name: 'fresh', app_id: 7, _id: { $oid: '0'.repeat(24) } }],
  ])('container_image absent: %s', async (_, body) => {
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(reply.body).toEqual({ missing_parameters: ['container_image'] });
  });

  it('container_image absent and other fields bad: one 400 with both', async () => {
    const body = { running: 'yes', nonsense: 1 };
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(reply.body).toEqual({
      missing_parameters: ['container_image'],
      invalid_parameters: { running: REASON, nonsense: REASON },
    });
  });

  it.each([
    ['container_image', null],
    ['container_image', ''],
    ['container_image', 7],
    ['container_image', ['nginx']],
    ['starting_ports', 80],
    ['starting_ports', null],
    ['starting_ports', [0]],
    ['starting_ports', [65_536]],
    ['starting_ports', [-1]],
    ['starting_ports', [80.5]],
    ['starting_ports', ['80']],
    ['starting_ports', [null]],
    ['starting_ports', [[80]]],
    ['starting_ports', [{}]],
    ['starting_ports', [{ '80': 80 }]],
    ['starting_ports', [{ '80': '81', '82': '83' }]],
    ['starting_ports', [{ '0': '80' }]],
    ['starting_ports', [{ '80': '65536' }]],
    ['starting_ports', [{ http: '80' }]],
    ['starting_ports', [80, 'https']],
    ['containers_per', 1],
    ['containers_per', null],
    ['containers_per', {}],
    ['containers_per', []],
    ['containers_per', { server: 0 }],
    ['containers_per', { server: -1 }],
    ['containers_per', { server: 1.5 }],
    ['containers_per', { server: '1' }],
    ['containers_per', { rack: 1 }],
    ['containers_per', { cpu: 0 }],
    ['containers_per', { cpu: -0.5 }],
    ['containers_per', { mem: 0.5 }],
    ['containers_per', { cpu: 2 ** 53 }],
    ['containers_per', { cpu: 1e20 }],
    ['containers_per', { server: 2 ** 53 }],
    ['containers_per', { memory: 1e300 }],
    ['starting_ports', [2 ** 53]],
    ['env_vars', []],
    ['env_vars', 'A=1'],
    ['env_vars', { A: 1 }],
    ['env_vars', { A: true }],
    ['env_vars', { A: null }],
    ['env_vars', { A: { B: 'c' } }],
    ['running', 'true'],
    ['running', 1],
    ['running', null],
    ['volumes', '/a:/b'],
    ['volumes', ['/a']],
    ['volumes', ['/a:/b:ro:z']],
    ['volumes', ['']],
    ['volumes', [1]],
    ['networks', 'bridge'],
    ['networks', [1]],
    ['networks', null],
    ['devices', ['/dev/usb']],
    ['devices', ['/dev/usb:/dev/usb:rw:x']],
    ['devices', [{ host: '/dev/usb' }]],
    ['privileged', 'no'],
    ['rolling_restart', 0],
    ['docker_image', 'nginx'],
    ['container_images', 'nginx'],
    ['Running', true],
    ['constructor', 'x'],
    ['toString', 'x'],
    ['', 'x'],
  ])(
    'Unknown field, wrong type or range: 400 invalid_parameters, nothing written: %s %j',
    async (field, value) => {
      const body = { container_image: 'nginx', [field]: value };
      const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
      expect(reply.body).toEqual({ invalid_parameters: { [field]: REASON } });
    },
  );

  it('Wrong type or range: every bad field listed at once', async () => {
    const fields = [...Object.keys(FULL_APP), 'one', 'two'];
    const body = Object.fromEntries(fields.map((field) => [field, 7]));
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(Object.keys(reply.body)).toEqual(['invalid_parameters']);
    expect(Object.keys(reply.body.invalid_parameters).sort()).toEqual([...fields].sort());
  });

  it.each<[string, unknown]>([
    ['starting_ports', Array.from({ length: 400_000 }, () => 0)],
    ['env_vars', Object.fromEntries(Array.from({ length: 90_000 }, (_, index) => [index.toString(36), 0]))],
  ])('Wrong type or range: the first twenty of very many in one field are told: %s', async (field, value) => {
    const body = { container_image: 'a', [field]: value };
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(Object.keys(reply.body.invalid_parameters)).toEqual([field]);
    const told = reply.body.invalid_parameters[field] as string;
    const unchecked = Object.keys(value as object).length - 1000;
    expect(told).toMatch(new RegExp(`; and 980 more; ${unchecked} more were not checked$`));
    expect(told.match(/ must be /g)).toHaveLength(20);
  });

  const refuse = async (body: unknown): Promise<Record<string, string>> => {
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(Object.keys(reply.body)).toEqual(['invalid_parameters']);
    return reply.body.invalid_parameters;
  };
  const many = (length: number, entry: unknown): unknown[] => Array.from({ length }, () => entry);

  it('Unknown field in a body: the first hundred of very many are told', async () => {
    const fields = Array.from({ length: 60_000 }, (_, index) => [`field${index}`, 1]);
    const told = await refuse({ container_image: '', ...Object.fromEntries(fields), running: 'no' });
    expect(Object.keys(told)).toHaveLength(102);
    expect(told).toMatchObject({ container_image: expect.any(String), running: expect.any(String) });
    expect(told).toMatchObject({ field99: expect.stringContaining('known fields are container_image') });
  });

  it('Wrong type or range: an entry far behind in a long field is told with its place, and other fields too', async () => {
    const told = await refuse({
      container_image: 'a',
      starting_ports: [...many(25_000, 80), 0, ...many(999, 81)],
      env_vars: {
        ...Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`N${index}`, ''])),
        'A=': '',
      },
      volumes: [1],
    });
    expect(told['starting_ports']).toMatch(/^25000 must be a port .*"80"}$/);
    expect(told['env_vars']).toMatch(/^A= is not a valid variable name/);
    expect(told['volumes']).toBe('0 must be a string, not a number; write it in quotes');
  });

  it.each([
    ['an entry that has very many', JSON.stringify([Object.fromEntries(many(50_000, 0).entries())])],
    ['hundreds of thousands of levels', '['.repeat(400_000) + ']'.repeat(400_000)],
  ])('Wrong type or range: one field with %s', async (_, value) => {
    const raw = `{"container_image":"a","starting_ports":${value}}`;
    const reply = await expectRefused(manager(), 400, () =>
      manager().post('/api/v2/apps/fresh', undefined, { raw }),
    );
    expect(Object.keys(reply.body.invalid_parameters)).toEqual(['starting_ports']);
    expect(reply.text.length).toBeLessThan(200);
  });

  it.each([
    ['valid', many(300_000, 80), 'the object would need a file of more than 262144 bytes'],
    ['bad at the beginning', [0, ...many(300_000, 80)], undefined],
  ])('more than a file can hold, %s', async (_, ports, error) => {
    const body = { container_image: 'a', starting_ports: ports };
    const reply = await expectRefused(manager(), 400, () => manager().post('/api/v2/apps/fresh', body));
    expect(reply.body.error).toBe(error);
    expect(Object.keys(reply.body.invalid_parameters ?? {})).toEqual(
      error === undefined ? ['starting_ports'] : [],
    );
  });

  it.each([
    ['at the top', '{"container_image":"a","__proto__":{"running":false}}', '__proto__'],
    ['in env_vars', '{"container_image":"a","env_vars":{"__proto__":"x"}}', 'env_vars'],
    ['in a port', '{"container_image":"a","starting_ports":[{"__proto__":"80"}]}', 'starting_ports'],
  ])('Unknown field in a body: __proto__ %s', async (_, body, field) => {
    const reply = await expectRefused(manager(), 400, () =>
      sendRaw(manager(), { method: 'POST', path: '/api/v2/apps/fresh', headers: JSON_TYPE, body }),
    );
    expect(Object.entries(reply.body.invalid_parameters)).toEqual([[field, REASON]]);
    expect(({} as Record<string, unknown>)['running']).toBeUndefined();
  });

  it('Unknown field in a body: one that is nested a thousand levels deep', async () => {
    const body = `{"container_image":"a","deep":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}`;
    const reply = await expectRefused(manager(), 400, () =>
      sendRaw(manager(), { method: 'POST', path: '/api/v2/apps/fresh', headers: JSON_TYPE, body }),
    );
    expect(reply.body).toEqual({ invalid_parameters: { deep: REASON } });
  });

  it('a key that stands twice in a body is never answered with a fault inside', async () => {
    const body = '{"container_image":"twice:1","container_image":"twice:2"}';
    const reply = await sendRaw(manager(), {
      method: 'POST',
      path: '/api/v2/apps/twice',
      headers: JSON_TYPE,
      body,
    });
    expect([200, 400]).toContain(reply.status);
  });

  it.each(INVALID_NAMES)(
    'Names of apps and groups: anything else is 400, never a path on disk: %s',
    async (_, name) => {
      const body = JSON.stringify({ container_image: 'nginx' });
      const reply = await expectRefused(manager(), 400, () =>
        sendRaw(manager(), { method: 'POST', path: `/api/v2/apps/${name}`, headers: JSON_TYPE, body }),
      );
      expect(reply.body).toBeTypeOf('object');
      const { folder } = manager().repository;
      expect(existsSync(join(folder, '..', 'escape.yaml'))).toBe(false);
      expect(readdirSync(folder).sort()).toEqual(['.git', 'desired-state']);
    },
  );

  it.each([
    ['128 characters', 'n'.repeat(128)],
    ['one digit', '0'],
    ['dots and hyphens', 'a..b-_.'],
    ['another case of a name that exists', 'WEB'],
    ['the name of a property', 'constructor'],
    ['the name of a file that is left alone', 'README'],
    ['a name with an extension', 'web.yaml'],
    ['the extension of what is left alone', 'notes.md'],
    ['the name of an action', 'restart'],
  ])('Names of apps and groups: %s is one', async (_, name) => {
    const reply = await manager().post(`/api/v2/apps/${name}`, { container_image: 'ok:1' });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord(name, { container_image: 'ok:1' }, 1));
    const file = `desired-state/apps/${name}.yaml`;
    expect(await manager().repository.show(file)).toBe('container_image: ok:1\n');
    expect((await manager().get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it.each([
    ['starting_ports', [1, 65_535, { '1': '65535' }]],
    ['containers_per', { instance: 1 }],
    ['containers_per', { memory: 512 }],
    ['containers_per', { mem: 512 }],
    ['containers_per', { cpu: 0.5 }],
    ['containers_per', { server: 2, cpu: 3 }],
    ['containers_per', { server: 2 ** 53 - 1, cpu: 2 ** 53 - 1 }],
    ['containers_per', { cpu: 1e-7 }],
    ['containers_per', { cpu: 5e-324 }],
    ['devices', ['/dev/a:/dev/b', '/dev/a:/dev/b:rwm']],
    ['volumes', ['a:b', 'a:b:ro']],
    ['env_vars', { A: 'true', B: '1', C: 'null', D: '', E: ' x ', F: 'a\nb\n', G: '\u{1f600} "\\' }],
  ])('values at the edges of their ranges are kept as they are: %s %j', async (field, value) => {
    const name = `edge-${createHash('md5')
      .update(field + JSON.stringify(value))
      .digest('hex')}`;
    const fields = { container_image: 'edge:1', [field]: value };
    const reply = await manager().post(`/api/v2/apps/${name}`, fields);
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord(name, fields, 1));
  });

  it('app_name, app_id, _id in a body: ignored, so that a record read from the API can be sent back', async () => {
    const { body: record } = await manager().get('/api/v2/apps/web');
    const reply = await manager().post('/api/v2/apps/copy', record);
    expect(reply.status).toBe(200);
    const { app_name: _name, app_id: _id, _id: oid, ...fields } = record;
    expect(reply.body).toEqual(appRecord('copy', fields, 1));
    expect(reply.body._id).not.toEqual(oid);
  });
});
