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

/** A request with two errors; the status of the one that is reported, and its body if the contract specifies it. */
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
    '403 permission before 400 name that cannot be decoded',
    { path: '/api/v2/apps/%zz', headers: FOREIGN },
    403,
  ],
  ['403 permission before 403 existence', { path: '/api/v2/apps/nope', headers: FOREIGN }, 403, denied],
  ['404 before 400 body', json('POST', '/api/v2/nothing', '{'), 404, { error: REASON }],
  ['405 before 400 name', { method: 'PATCH', path: '/api/v2/apps/..' }, 405, { error: REASON }],
  [
    '405 before 400 name of 8,000 characters',
    { method: 'PATCH', path: `/api/v2/apps/${'a'.repeat(8000)}` },
    405,
  ],
  ['405 before 403 existence', { method: 'GET', path: '/api/v2/apps/nope/stop' }, 405, { error: REASON }],
  ['405 before 400 body', json('PATCH', WEB, '{'), 405, { error: REASON }],
  ['400 name before 403 existence', { path: '/api/v2/apps/.nope' }, 400],
  [
    '400 name of 8,000 characters, which has the same body as any other',
    { path: `/api/v2/apps/${'a'.repeat(8000)}` },
    400,
    { invalid_parameters: { app_name: REASON } },
  ],
  [
    '403 existence of the group before 403 existence of its apps',
    json('POST', '/api/v2/device_groups/nope/update', '{"apps":["nope"]}'),
    403,
    { device_group_exists: false },
  ],
  [
    '403 existence of apps before 400 body that lists a name twice',
    json('POST', '/api/v2/device_groups/fresh', '{"apps":["nope","web","web"]}'),
    403,
    { app_exists: false, apps: ['nope'] },
  ],
  [
    '403 existence of apps before 400 body with an unknown field',
    json('PUT', `${EDGE}/update`, '{"apps":["nope"],"x":1}'),
    403,
    { app_exists: false, apps: ['nope'] },
  ],
];

/** Bodies that are refused before they are parsed. */
const REFUSED_BODIES: readonly (readonly [
  name: string,
  status: number,
  parts: Pick<RawRequest, 'body' | 'headers'>,
])[] = [
  ['a form', 415, { body: 'a=b', headers: { 'content-type': 'application/x-www-form-urlencoded' } }],
  ['a type without a slash', 415, { body: 'a', headers: { 'content-type': 'x' } }],
  ['a gzip encoding', 415, { body: '{}', headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }],
  ['more than BODY_LIMIT', 413, { body: ' '.repeat(2 ** 20 + 1), headers: JSON_TYPE }],
];

/** Routes that such a body is sent to, and the error that is reported before it; null if there is none. */
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

describe('docs/contract.md, 5.6: requests with a body that is refused with 413 or 415', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each(REFUSED_BODIES)(
    '404, 405, 400 name and 403 existence come first: %s',
    async (_, refusal, parts) => {
      await expectNothingWritten(manager(), async () => {
        for (const [method, path, status, body] of TARGETS) {
          const reply = await sendRaw(manager(), { method, path, ...parts });
          expect(reply.status, `${method} ${path}`).toBe(status ?? refusal);
          expect(reply.body, `${method} ${path}`).toEqual(body ?? { error: REASON });
        }
      });
    },
  );

  it.each(REFUSED_BODIES)('412 comes later: %s', async (_, refusal, parts) => {
    const stale = { ...parts, headers: { ...parts.headers, ...STALE } };
    expect((await sendRaw(manager(), { method: 'DELETE', path: WEB, ...stale })).status).toBe(refusal);
  });
});

describe('docs/contract.md, 5.6: Of several errors, the first of this order is reported', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  const rows = ROWS.map(([name, request, status, body]) => [name, request, status, body] as const);
  it.each(rows)('%s', async (_, request, status, body) => {
    const reply = await expectNothingWritten(manager(), () => sendRaw(manager(), request));
    expect(reply.status).toBe(status);
    expect(reply.body).toBeTypeOf('object');
    if (body !== undefined) expect(reply.body).toEqual(body);
  });
});

describe('docs/contract.md, 5.6: Of several errors, the first of this order is reported: writes that the repository cannot take', () => {
  const web = (file: string) => `desired-state/apps/${file}.yaml`;

  /** States in which a write is answered with 409 or 503, and how to get there. */
  const STATES: readonly (readonly [
    name: string,
    status: number,
    prepare: (m: TestManager) => Promise<unknown>,
  ])[] = [
    [
      'the file is invalid at head',
      409,
      (m) => m.repository.commit({ [web('web')]: 'container_image: [\n' }),
    ],
    ['the file has uncommitted work', 409, (m) => writeFile(join(m.repository.folder, web('web')), 'x: 1\n')],
    ['HEAD is detached', 409, (m) => m.repository.git('checkout', '--quiet', '--detach')],
    [
      'the head is refused',
      409,
      (m) =>
        m.repository.commit({
          [web('web')]: null,
          [web('cron')]: null,
          'desired-state/device-groups/edge.yaml': null,
        }),
    ],
    [
      'the repository is gone',
      503,
      (m) => rename(join(m.repository.folder, '.git'), join(m.repository.folder, '.git-away')),
    ],
  ];

  it.each(STATES)('%s: 403 existence, 400 body and 412 come before %i', async (_, status, prepare) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await prepare(manager);
    await manager.reconcile();
    const update = (body: string, headers = {}) =>
      sendRaw(manager, json('PUT', `${WEB}/update`, body, headers));

    const unknownApps = [
      await sendRaw(manager, { method: 'DELETE', path: '/api/v2/apps/nope' }),
      await sendRaw(manager, { method: 'POST', path: '/api/v2/apps/nope/stop' }),
      await sendRaw(manager, json('PUT', '/api/v2/apps/nope/update', '{"running":true}')),
    ];
    for (const reply of unknownApps) expect([reply.status, reply.body]).toEqual([403, { app_exists: false }]);
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
