import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { expectNothingWritten } from '../support/manager-state.ts';
import { JSON_TYPE, type RawRequest, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';

/** A route that writes, and what makes it succeed or fail. */
interface WritingRoute {
  method: string;
  /** The path for an object of this name. */
  path: (name: string) => string;
  /** A name for which the route writes something. */
  name: string;
  /** A name for which it answers 403. */
  wrongName: string;
  /** A valid body, and one that is refused with 400; only of routes that read a body. */
  body?: { valid: string; invalid: string };
  /** Whether it makes a commit, which is impossible while HEAD is detached. */
  commits: boolean;
}

const app = (action: string) => (name: string) => `/api/v2/apps/${name}${action}`;
const group = (action: string) => (name: string) => `/api/v2/device_groups/${name}${action}`;
const image = { valid: '{"container_image":"x"}', invalid: '{"x":1}' };
const partial = { valid: '{"privileged":true}', invalid: '{}' };
const apps = { valid: '{"apps":["cron"]}', invalid: '{"apps":["web","web"]}' };

const web = { name: 'web', wrongName: 'nope', commits: true };
const edge = { name: 'edge', wrongName: 'nope', commits: true };

const ROUTES: Readonly<Record<string, WritingRoute>> = {
  'create of an app': {
    method: 'POST',
    path: app(''),
    name: 'new',
    wrongName: 'web',
    body: image,
    commits: true,
  },
  'full update of an app': { ...web, method: 'POST', path: app('/update'), body: image },
  'partial update of an app': { ...web, method: 'PUT', path: app('/update'), body: partial },
  'partial update of an app by PATCH': { ...web, method: 'PATCH', path: app('/update'), body: partial },
  'stop of an app': { ...web, method: 'POST', path: app('/stop') },
  'start of an app': { ...web, name: 'cron', method: 'POST', path: app('/start') },
  'restart of a running app': { ...web, method: 'POST', path: app('/restart'), commits: false },
  'restart of a stopped app': { ...web, name: 'cron', method: 'POST', path: app('/restart') },
  'delete of an app': { ...web, method: 'DELETE', path: app('') },
  'create of a group': {
    method: 'POST',
    path: group(''),
    name: 'new',
    wrongName: 'edge',
    body: apps,
    commits: true,
  },
  'full update of a group': { ...edge, method: 'POST', path: group('/update'), body: apps },
  'partial update of a group': { ...edge, method: 'PUT', path: group('/update'), body: apps },
  'partial update of a group by PATCH': { ...edge, method: 'PATCH', path: group('/update'), body: apps },
  'prune of a group': { ...edge, method: 'POST', path: group('/prune'), commits: false },
  'delete of a group': { ...edge, method: 'DELETE', path: group('') },
};

/** A request that faults are added to. */
type Draft = RawRequest & { name: string };

const INVALID_BODY = 'an invalid body';

/** Faults of a request, in the order in which they are reported; `change` gives a request the fault. */
const FAULTS: readonly (readonly [
  name: string,
  status: number,
  change: (draft: Draft, route: WritingRoute) => object,
])[] = [
  ['no credentials', 401, () => ({ authorization: null })],
  ['a foreign Origin', 403, ({ headers }) => ({ headers: { ...headers, origin: 'https://evil.example' } })],
  ['an invalid name', 400, () => ({ name: '.nope' })],
  ['a name that is unknown or taken', 403, (_draft, { wrongName }) => ({ name: wrongName })],
  [
    'an unsupported Content-Type',
    415,
    ({ headers }) => ({ body: 'a=b', headers: { ...headers, 'content-type': 'text/plain' } }),
  ],
  [INVALID_BODY, 400, (_draft, { body }) => ({ body: body?.invalid })],
  ['a stale If-Match', 412, ({ headers }) => ({ headers: { ...headers, 'if-match': '"1"' } })],
];

/** The faults that a request to a route can have. */
function faultsOf({ body }: WritingRoute): typeof FAULTS {
  return FAULTS.filter(([name]) => body !== undefined || name !== INVALID_BODY);
}

/** If two faults change the same part of the request, the one that is reported first wins. */
function requestWith(route: WritingRoute, faults: typeof FAULTS): RawRequest {
  const draft: Draft = {
    method: route.method,
    path: '',
    name: route.name,
    headers: route.body === undefined ? {} : JSON_TYPE,
    body: route.body?.valid,
  };
  for (const [, , change] of faults.toReversed()) Object.assign(draft, change(draft, route));
  const { name, ...request } = draft;
  return { ...request, path: route.path(name) };
}

describe('docs/contract.md, 5.6: writes with several errors', () => {
  // While HEAD is detached, every route that commits has this error, too.
  const manager = suiteManager({ files: SMALL_FLEET }, ({ repository }) =>
    repository.git('checkout', '--quiet', '--detach'),
  );

  it.each(Object.entries(ROUTES))(
    'of any two errors, the first of the order is reported: %s',
    async (_, route) => {
      const faults = faultsOf(route);
      await expectNothingWritten(manager(), async () => {
        for (const [index, first] of faults.entries()) {
          for (const second of faults.slice(index)) {
            const { status } = await sendRaw(manager(), requestWith(route, [first, second]));
            expect(status, `${first[0]} before ${second[0]}`).toBe(first[1]);
          }
        }
        if (!route.commits) return;
        expect((await sendRaw(manager(), requestWith(route, []))).status, 'no other fault').toBe(409);
      });
    },
  );
});

describe('docs/contract.md, 5.6: requests before the first revision is applied', () => {
  // STRICT refuses the first revision, so it is not known which objects exist.
  const manager = suiteManager({
    files: { ...SMALL_FLEET, 'apps/bad.yaml': 'x: 1\n' },
    settings: { STRICT: 'true' },
  });

  it.each([
    ['a read of an app', 'GET', '/api/v2/apps/'],
    ['a read of a group', 'GET', '/api/v2/device_groups/'],
    ['a prune of a group', 'POST', '/api/v2/device_groups/', '/prune'],
  ])('400 of an invalid name comes before 503: %s', async (_, method, before, after = '') => {
    expect((await sendRaw(manager(), { method, path: `${before}web${after}` })).status).toBe(503);
    expect((await sendRaw(manager(), { method, path: `${before}.web${after}` })).status).toBe(400);
  });
});
