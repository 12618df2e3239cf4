import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { expectNothingWritten } from '../support/manager-state.ts';
import { JSON_TYPE, type RawRequest, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';

/** A route that writes; where it reads a body, one that it takes and one that it refuses with 400. */
interface WritingRoute {
  method: string;
  /** Path of an object of this name. */
  path: (name: string) => string;
  /** A name for which the route does something, and one for which it answers 403. */
  name: string;
  wrongName: string;
  body?: { good: string; bad: string };
  /** Whether it makes a commit, which a detached HEAD does not allow. */
  commits: boolean;
}

const app = (action: string) => (name: string) => `/api/v2/apps/${name}${action}`;
const group = (action: string) => (name: string) => `/api/v2/device_groups/${name}${action}`;
const image = { good: '{"container_image":"x"}', bad: '{"x":1}' };
const running = { good: '{"privileged":true}', bad: '{}' };
const apps = { good: '{"apps":["cron"]}', bad: '{"apps":["web","web"]}' };

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
  'partial update of an app': { ...web, method: 'PUT', path: app('/update'), body: running },
  'partial update of an app by PATCH': { ...web, method: 'PATCH', path: app('/update'), body: running },
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

/** A request while it is made wrong. */
type Draft = RawRequest & { name: string };

/** What can be wrong with a request, in the order in which it is told: the status, and how the request comes to be so. */
const FAULTS: readonly (readonly [
  what: string,
  status: number,
  spoil: (draft: Draft, route: WritingRoute) => object,
])[] = [
  ['nobody', 401, () => ({ authorization: null })],
  ['another site', 403, ({ headers }) => ({ headers: { ...headers, origin: 'https://evil.example' } })],
  ['a bad name', 400, () => ({ name: '.nope' })],
  ['existence', 403, (_draft, { wrongName }) => ({ name: wrongName })],
  ['a form', 415, ({ headers }) => ({ body: 'a=b', headers: { ...headers, 'content-type': 'text/plain' } })],
  ['a bad body', 400, (_draft, { body }) => ({ body: body?.bad })],
  ['If-Match', 412, ({ headers }) => ({ headers: { ...headers, 'if-match': '"1"' } })],
];

/** The faults that a request to a route can have. */
function faultsOf({ body }: WritingRoute): typeof FAULTS {
  return FAULTS.filter(([what]) => body !== undefined || what !== 'a bad body');
}

/** Where two faults are about the same part of the request, the one that is told first has its way. */
function requestWith(route: WritingRoute, faults: typeof FAULTS): RawRequest {
  const draft: Draft = {
    method: route.method,
    path: '',
    name: route.name,
    headers: route.body === undefined ? {} : JSON_TYPE,
    body: route.body?.good,
  };
  for (const [, , spoil] of faults.toReversed()) Object.assign(draft, spoil(draft, route));
  const { name, ...request } = draft;
  return { ...request, path: route.path(name) };
}

describe('decisions.md: Everything else: of each two errors of a write, the first of the order is told', () => {
  // With a detached HEAD, no write can be committed: each request of a route that commits has this fault, too.
  const manager = suiteManager({ files: SMALL_FLEET }, ({ repository }) =>
    repository.git('checkout', '--quiet', '--detach'),
  );

  it.each(Object.entries(ROUTES))('%s', async (_, route) => {
    const faults = faultsOf(route);
    await expectNothingWritten(manager(), async () => {
      for (const [index, first] of faults.entries()) {
        for (const second of faults.slice(index)) {
          const { status } = await sendRaw(manager(), requestWith(route, [first, second]));
          expect(status, `${first[0]} before ${second[0]}`).toBe(first[1]);
        }
      }
      if (!route.commits) return;
      expect((await sendRaw(manager(), requestWith(route, []))).status, 'nothing else').toBe(409);
    });
  });
});

describe('decisions.md: Everything else: 400 of a name comes before the 503 of a first start', () => {
  // STRICT refuses the first revision, so nobody knows which objects there are.
  const manager = suiteManager({
    files: { ...SMALL_FLEET, 'apps/bad.yaml': 'x: 1\n' },
    settings: { STRICT: 'true' },
  });

  it.each([
    ['read', 'GET', '/api/v2/apps/'],
    ['read of a group', 'GET', '/api/v2/device_groups/'],
    ['prune', 'POST', '/api/v2/device_groups/', '/prune'],
  ])('%s', async (_, method, before, after = '') => {
    expect((await sendRaw(manager(), { method, path: `${before}web${after}` })).status).toBe(503);
    expect((await sendRaw(manager(), { method, path: `${before}.web${after}` })).status).toBe(400);
  });
});
