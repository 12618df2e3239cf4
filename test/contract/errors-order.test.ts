import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { expectNothingWritten } from '../support/manager-state.ts';
import { JSON_TYPE, type RawRequest, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { REASON } from './expected.ts';

const FOREIGN = { origin: 'https://evil.example' };
const STALE = { 'if-match': '"1"' };
const WEB = '/api/v2/apps/web';
const EDGE = '/api/v2/device_groups/edge';

/** A request that is wrong in two ways, the status of the one that is told, and its body where the spec gives one. */
type Row = readonly [name: string, request: RawRequest, status: number, body?: unknown];

function json(method: string, path: string, body: string, more: RawRequest['headers'] = {}): RawRequest {
  return { method, path, body, headers: { ...JSON_TYPE, ...more } };
}

const denied = { access_allowed: false };

const ROWS: readonly Row[] = [
  ['401 before 403 permission', { path: WEB, headers: FOREIGN, authorization: null }, 401, denied],
  ['401 before 404', { path: '/api/v2/nothing', authorization: null }, 401, denied],
  ['401 before 405', { method: 'PUT', path: '/api/v2/apps', authorization: null }, 401, denied],
  ['401 before 400 name', { path: '/api/v2/apps/..', authorization: null }, 401, denied],
  ['401 before 403 existence', { path: '/api/v2/apps/nope', authorization: null }, 401, denied],
  ['403 permission before 404', { path: '/api/v2/nothing', headers: FOREIGN }, 403],
  ['403 permission before 405', { method: 'PUT', path: '/api/v2/apps', headers: FOREIGN }, 403],
  ['403 permission before 400 name', { path: '/api/v2/apps/..', headers: FOREIGN }, 403],
  [
    '403 permission before a name that cannot be decoded',
    { path: '/api/v2/apps/%zz', headers: FOREIGN },
    403,
  ],
  ['403 permission before 403 existence', { path: '/api/v2/apps/nope', headers: FOREIGN }, 403, denied],
  ['404 before 400 body', json('POST', '/api/v2/nothing', '{'), 404, { error: REASON }],
  ['405 before 400 name', { method: 'PATCH', path: '/api/v2/apps/..' }, 405, { error: REASON }],
  ['405 before 400 name, of any length', { method: 'PATCH', path: `/api/v2/apps/${'a'.repeat(8000)}` }, 405],
  ['405 before 403 existence', { method: 'GET', path: '/api/v2/apps/nope/stop' }, 405, { error: REASON }],
  ['405 before 400 body', json('PATCH', WEB, '{'), 405, { error: REASON }],
  ['400 name before 403 existence', { path: '/api/v2/apps/.nope' }, 400],
  [
    '400 name of any length is told as one of 129 letters',
    { path: `/api/v2/apps/${'a'.repeat(8000)}` },
    400,
    { invalid_parameters: { app_name: REASON } },
  ],
  [
    '403 existence of the group before that of its apps',
    json('POST', '/api/v2/device_groups/nope/update', '{"apps":["nope"]}'),
    403,
    { device_group_exists: false },
  ],
  [
    '403 existence of apps before 400 body, a name listed twice',
    json('POST', '/api/v2/device_groups/fresh', '{"apps":["nope","web","web"]}'),
    403,
    { app_exists: false, apps: ['nope'] },
  ],
  [
    '403 existence of apps before 400 body, an unknown field',
    json('PUT', `${EDGE}/update`, '{"apps":["nope"],"x":1}'),
    403,
    { app_exists: false, apps: ['nope'] },
  ],
];

/** Bodies that are refused whatever they say. */
const REFUSED: readonly (readonly [string, number, Pick<RawRequest, 'body' | 'headers'>])[] = [
  ['a form', 415, { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['no type', 415, { body: 'a', headers: { 'content-type': 'x' } }],
  ['packed', 415, { body: '{}', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }],
  ['too large', 413, { body: ' '.repeat(2 ** 20 + 1), headers: JSON_TYPE }],
];

/** Where a body goes, and what is told before it; null where it is the first. */
const TARGETS: readonly (readonly [method: string, path: string, status: number | null, body?: unknown])[] = [
  ['POST', '/api/v2/status', 405],
  ['PATCH', WEB, 405],
  ['POST', '/api/v2/nope', 404],
  ['POST', '/nope', 404],
  ['POST', '/api/v2/apps/.nope', 400, { invalid_parameters: { app_name: REASON } }],
  ['POST', '/api/v2/apps/.nope/stop', 400, { invalid_parameters: { app_name: REASON } }],
  ['POST', WEB, 403, { app_exists: true }],
  ['DELETE', '/api/v2/apps/nope', 403, { app_exists: false }],
  ['PUT', '/api/v2/apps/nope/update', 403, { app_exists: false }],
  ['POST', '/api/v2/apps/nope/stop', 403, { app_exists: false }],
  ['POST', '/api/v2/apps/nope/restart', 403, { app_exists: false }],
  ['POST', EDGE, 403, { device_group_exists: true }],
  ['POST', '/api/v2/device_groups/nope/update', 403, { device_group_exists: false }],
  ['POST', '/api/v2/device_groups/nope/prune', 403, { device_group_exists: false }],
  ['POST', '/api/v2/apps/fresh', null],
  ['PUT', `${WEB}/update`, null],
  ['POST', `${WEB}/stop`, null],
  ['POST', `${WEB}/restart`, null],
  ['DELETE', WEB, null],
  ['POST', '/api/v2/device_groups/fresh', null],
  ['POST', `${EDGE}/prune`, null],
  ['POST', '/api/v2/prune', null],
  ['POST', '/api/v2/reports', null],
  ['POST', '/api/v2/reconcile', null],
];

describe('decisions.md: Everything else: 404, 405, names and existence before 413 and 415', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each(REFUSED)('a body that is refused: %s', async (_, refusal, parts) => {
    for (const [method, path, status, body] of TARGETS) {
      const reply = await expectNothingWritten(manager(), () =>
        sendRaw(manager(), { method, path, ...parts }),
      );
      expect(reply.status, `${method} ${path}`).toBe(status ?? refusal);
      expect(reply.body, `${method} ${path}`).toEqual(body ?? { error: REASON });
    }
    const stale = { ...parts, headers: { ...parts.headers, ...STALE } };
    expect((await sendRaw(manager(), { method: 'DELETE', path: WEB, ...stale })).status).toBe(refusal);
  });
});

describe('decisions.md: Everything else: Several errors at once are told in this order', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  const rows = ROWS.map(([name, request, status, body]) => ({ name, request, status, body }));
  it.each(rows)('$name', async ({ request, status, body }) => {
    const reply = await expectNothingWritten(manager(), () => sendRaw(manager(), request));
    expect(reply.status).toBe(status);
    expect(reply.body).toBeTypeOf('object');
    if (body !== undefined) expect(reply.body).toEqual(body);
  });
});

describe('decisions.md: Everything else: Several errors at once: what comes before the state of the repository', () => {
  const web = (file: string) => `desired-state/apps/${file}.yaml`;

  /** States in which a write is a 409 or a 503, and the ways there. */
  const STATES: readonly (readonly [string, number, (m: TestManager) => Promise<unknown>])[] = [
    [
      'the file is invalid at head',
      409,
      (m) => m.repository.commit({ [web('web')]: 'container_image: [\n' }),
    ],
    ['the file has uncommitted work', 409, (m) => writeFile(join(m.repository.folder, web('web')), 'x: 1\n')],
    ['HEAD is detached', 409, (m) => m.repository.git('checkout', '--quiet', '--detach')],
    [
      'the revision is refused',
      409,
      (m) =>
        m.repository.commit({
          [web('web')]: null,
          [web('cron')]: null,
          'desired-state/device-groups/edge.yaml': null,
        }),
    ],
    [
      'git cannot be reached',
      503,
      (m) => rename(join(m.repository.folder, '.git'), join(m.repository.folder, '.git-away')),
    ],
  ];

  it.each(STATES)('%s: 403 existence, 400 body and 412 come before %i', async (_, status, prepare) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await prepare(manager);
    await manager.reconcile();
    const update = (body: string, more = {}) => sendRaw(manager, json('PUT', `${WEB}/update`, body, more));

    const unknown = [
      await sendRaw(manager, { method: 'DELETE', path: '/api/v2/apps/nope' }),
      await sendRaw(manager, { method: 'POST', path: '/api/v2/apps/nope/stop' }),
      await sendRaw(manager, json('PUT', '/api/v2/apps/nope/update', '{"running":true}')),
    ];
    for (const reply of unknown) expect([reply.status, reply.body]).toEqual([403, { app_exists: false }]);
    const group = await sendRaw(manager, { method: 'DELETE', path: '/api/v2/device_groups/nope' });
    expect([group.status, group.body]).toEqual([403, { device_group_exists: false }]);
    const create = await sendRaw(manager, json('POST', WEB, '{"container_image":"x"}'));
    expect([create.status, create.body]).toEqual([403, { app_exists: true }]);
    expect((await update('{"x":1}')).body).toEqual({ invalid_parameters: { x: REASON } });
    expect((await update('{"rolling_restart":true}', STALE)).status).toBe(412);
    expect((await sendRaw(manager, { method: 'POST', path: `${WEB}/stop`, headers: STALE })).status).toBe(
      412,
    );
    expect((await update('{"rolling_restart":true}')).status).toBe(status);
  });
});
