import { createHash } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { commitCount, expectRefused, lastCommit } from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord, FULL_APP, INVALID_NAMES, NOT_JSON, NOT_OBJECTS, REASON } from './expected.ts';

/** An app that no test creates. */
const FRESH = '/api/v2/apps/fresh';

describe('docs/contract.md, 4.2: POST /api/v2/apps/{app_name}', () => {
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

  it('403 app_exists: true when the name exists, and the app stays as it was', async () => {
    const reply = await expectRefused(manager(), 403, () => manager().post('/api/v2/apps/web', FULL_APP));
    expect(reply.body).toEqual({ app_exists: true });
  });
});

describe('docs/contract.md, 2.1, 2.5 and 5.4: create', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  /** Sends a create that must be refused with 400 and write nothing; resolves to the body of the reply. */
  const refused = async (body: unknown) =>
    (await expectRefused(manager(), 400, () => manager().post(FRESH, body))).body;
  /** The same of a body that is sent byte for byte. */
  const refusedRaw = async (body: string | Uint8Array | undefined) => {
    const request = { method: 'POST', path: FRESH, headers: JSON_TYPE, body };
    return (await expectRefused(manager(), 400, () => sendRaw(manager(), request))).body;
  };
  const repeated = (length: number, entry: unknown): unknown[] => Array.from({ length }, () => entry);

  it.each([...NOT_JSON, ...NOT_OBJECTS])(
    'Body absent, empty, not JSON, or no object: %s',
    async (_, body) => {
      expect(await refusedRaw(body)).toEqual({ missing_parameters: ['container_image'] });
    },
  );

  it.each([
    ['an empty object', {}],
    ['only optional fields', { running: true, privileged: false }],
    ['only ignored fields', { app_name: 'fresh', app_id: 7, _id: { $oid: '0'.repeat(24) } }],
  ])('container_image absent: %s', async (_, body) => {
    expect(await refused(body)).toEqual({ missing_parameters: ['container_image'] });
  });

  it('container_image absent and other fields bad: one 400 with both', async () => {
    const body = { running: 'yes', nonsense: 1 };
    expect(await refused(body)).toEqual({
      missing_parameters: ['container_image'],
      invalid_parameters: { running: REASON, nonsense: REASON },
    });
  });

  it.each([
    // One value of each field, by which its rule is asked; all others are in test/protocol.
    ['container_image', null],
    ['starting_ports', [80, 'https']],
    ['containers_per', { server: '1' }],
    ['env_vars', { A: null }],
    ['running', 'true'],
    ['volumes', ['/a']],
    ['networks', null],
    ['devices', [{ host: '/dev/usb' }]],
    ['privileged', 'no'],
    ['rolling_restart', 0],
    // JSON has numbers that no YAML of ours has.
    ['containers_per', { cpu: 1e20 }],
    ['containers_per', { memory: 1e300 }],
    ['containers_per', { server: 2 ** 53 }],
    ['starting_ports', [2 ** 53]],
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
      expect(await refused(body)).toEqual({ invalid_parameters: { [field]: REASON } });
    },
  );

  it('Wrong type or range: every bad field listed at once', async () => {
    const fields = [...Object.keys(FULL_APP), 'one', 'two'];
    const body = Object.fromEntries(fields.map((field) => [field, 7]));
    const reply = await refused(body);
    expect(Object.keys(reply)).toEqual(['invalid_parameters']);
    expect(Object.keys(reply.invalid_parameters).sort()).toEqual([...fields].sort());
  });

  it.each<[string, unknown]>([
    ['starting_ports', repeated(20_000, 0)],
    ['env_vars', Object.fromEntries(Array.from({ length: 15_000 }, (_, index) => [index.toString(36), 0]))],
  ])(
    'Wrong type or range: the reason lists the first twenty of very many bad entries: %s',
    async (field, value) => {
      const body = { container_image: 'a', [field]: value };
      const reply = await refused(body);
      expect(Object.keys(reply.invalid_parameters)).toEqual([field]);
      const reason: string = reply.invalid_parameters[field];
      const others = Object.keys(value as object).length - 20;
      expect(reason).toMatch(new RegExp(`; and ${others} more$`));
      expect(reason.match(/ must be /g)).toHaveLength(20);
    },
  );

  it('Wrong type or range: what an engine would refuse on every device is refused, and no commit is made', async () => {
    const before = await commitCount(manager().repository);
    const { invalid_parameters: reasons } = await refused({
      container_image: 'https://registry.example/web',
      starting_ports: [{ 'localhost:80': '80' }],
      volumes: ['./rel:/y', '/a:/b:rx'],
    });
    expect(Object.keys(reasons)).toEqual(['container_image', 'starting_ports', 'volumes']);
    expect(await commitCount(manager().repository)).toBe(before);
  });

  it('Unknown field in a body: the first hundred of very many are listed, and all bad fields that are known', async () => {
    const fields = Array.from({ length: 60_000 }, (_, index) => [`field${index}`, 1]);
    const body = { container_image: '', ...Object.fromEntries(fields), running: 'no' };
    const { invalid_parameters: reasons } = await refused(body);
    expect(Object.keys(reasons)).toHaveLength(102);
    expect(reasons).toMatchObject({ container_image: REASON, running: REASON });
    expect(reasons).toMatchObject({ field99: expect.stringContaining('known fields are container_image') });
  });

  it('Wrong type or range: a bad entry far down a long field is reported with its key, beside other bad fields', async () => {
    const { invalid_parameters: reasons } = await refused({
      container_image: 'a',
      starting_ports: [...repeated(15_000, 80), 0, ...repeated(999, 81)],
      env_vars: {
        ...Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`N${index}`, ''])),
        'A=': '',
      },
      volumes: [1],
    });
    expect(reasons['starting_ports']).toMatch(/^15000 must be a port .*"80"}$/);
    expect(reasons['env_vars']).toMatch(/^A= is not a valid variable name/);
    expect(reasons['volumes']).toBe('0 must be a string, not a number; write it in quotes');
  });

  it('Wrong type or range: an empty name of a variable is quoted in the reason', async () => {
    expect(await refused({ container_image: 'x', env_vars: { '': 'x' } })).toEqual({
      invalid_parameters: {
        env_vars: '"" is not a valid variable name, which is not empty and contains no "="',
      },
    });
  });

  it.each([
    ['an entry of 50,000 keys', JSON.stringify([Object.fromEntries(repeated(50_000, 0).entries())])],
    ['400,000 nested arrays', '['.repeat(400_000) + ']'.repeat(400_000)],
  ])('Wrong type or range: the reply is short for a field with %s', async (_, value) => {
    const raw = `{"container_image":"a","starting_ports":${value}}`;
    const reply = await expectRefused(manager(), 400, () =>
      manager().post('/api/v2/apps/fresh', undefined, { raw }),
    );
    expect(Object.keys(reply.body.invalid_parameters)).toEqual(['starting_ports']);
    expect(reply.text.length).toBeLessThan(200);
  });

  it.each([
    ['a list', repeated(300_000, 80)],
    ['lists in a list', repeated(100, repeated(1000, 80))],
  ])(
    'Wrong type or range: a field with more than 20,000 entries in %s is not checked any further',
    async (_, ports) => {
      const reply = await refused({ container_image: 'a', starting_ports: ports, volumes: [1] });
      expect(reply.invalid_parameters).toEqual({
        starting_ports: 'has more than 20000 entries',
        volumes: REASON,
      });
    },
  );

  it.each([
    ['larger than a file may be', { LONG: 'x'.repeat(70_000) }],
    [
      'more than is read of a file',
      Object.fromEntries(Array.from({ length: 7000 }, (_, i) => [`v${i}`, ''])),
    ],
  ])('400 for a body that is %s, about its largest field', async (_, env_vars) => {
    const why =
      'the file would be too large: at most 65536 bytes, and 40000 words, signs and line breaks, are read';
    const reply = await refused({ container_image: 'a', env_vars });
    expect(reply).toEqual({ invalid_parameters: { env_vars: why } });
  });

  it.each([
    ['at the top', '{"container_image":"a","__proto__":{"running":false}}', '__proto__'],
    ['in env_vars', '{"container_image":"a","env_vars":{"__proto__":"x"}}', 'env_vars'],
    ['in a port', '{"container_image":"a","starting_ports":[{"__proto__":"80"}]}', 'starting_ports'],
  ])('Unknown field in a body: __proto__ %s is refused, and no prototype changes', async (_, body, field) => {
    const reply = await refusedRaw(body);
    expect(Object.entries(reply.invalid_parameters)).toEqual([[field, REASON]]);
    expect(({} as Record<string, unknown>)['running']).toBeUndefined();
  });

  it('Unknown field in a body: a value that is nested a thousand levels deep', async () => {
    const body = `{"container_image":"a","deep":${'{"a":'.repeat(1000)}1${'}'.repeat(1000)}}`;
    expect(await refusedRaw(body)).toEqual({ invalid_parameters: { deep: REASON } });
  });

  it('the last value counts if a body has a key twice', async () => {
    const body = '{"container_image":"twice:1","container_image":"twice:2"}';
    const reply = await sendRaw(manager(), {
      method: 'POST',
      path: '/api/v2/apps/twice',
      headers: JSON_TYPE,
      body,
    });
    expect(reply.body).toEqual(appRecord('twice', { container_image: 'twice:2' }, 1));
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
    ['the name of a property of every object', 'constructor'],
    ['the name of a file that is left alone', 'README'],
    ['an extension of files that are read', 'web.yaml'],
    ['an extension of files that are left alone', 'notes.md'],
    ['the name of an action', 'restart'],
  ])('Names of apps and groups: accepts %s', async (_, name) => {
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
    ['volumes', ['a:/b', 'a:/b:ro']],
    ['env_vars', { A: 'true', B: '1', C: 'null', D: '', E: ' x ', F: 'a\nb\n', G: '\u{1f600} "\\' }],
  ])('values at the limits of their ranges are kept as they are: %s %j', async (field, value) => {
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
