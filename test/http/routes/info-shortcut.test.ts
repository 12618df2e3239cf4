import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthenticator } from '../../../src/accounts/authenticator.ts';
import { plainPasswordCheck } from '../../../src/accounts/password.ts';
import type { Fleet } from '../../../src/fleet/fleet.ts';
import { createInfoCache } from '../../../src/http/info/cache.ts';
import { createDeviceInfos } from '../../../src/http/info/devices.ts';
import { useInfoShortcut } from '../../../src/http/routes/info-shortcut.ts';
import { createFollower } from '../../../src/reconcile/follower.ts';
import type { GroupInfo, StoreState } from '../../../src/store/objects/port.ts';
import { AUTHORIZATION, PASSWORD, startManager, USER } from '../../support/manager.ts';
import { sendRaw } from '../../support/raw-request.ts';

const PATH = '/api/v2/device_groups/edge/info';
const FROM_FASTIFY = 'from fastify';
const INFO = {
  group: { name: 'edge', content: { apps: [] } },
  apps: [],
  revision: 'abc',
  fleet: 'f1ee7000',
  idSequence: 7,
};

/** A server that replies `from fastify` to every request that the shortcut does not answer. */
async function startServer({ logsRequests = false } = {}) {
  const app = Fastify();
  app.all('/*', async () => FROM_FASTIFY);
  const authenticator = createAuthenticator(
    [{ principal: { name: USER, email: 'a@b', roles: ['device'] }, check: plainPasswordCheck(PASSWORD) }],
    () => 0,
  );
  const info = createInfoCache({
    store: {
      groupInfo: async (name) => (name === 'edge' ? (INFO as unknown as GroupInfo) : null),
    },
    follower: createFollower({
      store: { state: async () => ({ applied: null }) as StoreState },
      shared: null,
      lifetime: 1000,
      elapsed: () => 0,
      emit: () => undefined,
    }),
    isOff: false,
    render: async () => '{"apps":[]}',
    storeTimeout: () => new Promise(() => undefined),
  });
  const counted: number[] = [];
  const metrics = {
    requestCounter: (_method: string, _route: string, status: number) => () => counted.push(status),
  };
  const polls: (string | undefined)[][] = [];
  const fleet = {
    onPoll: ({ group, device, ifNoneMatch }: Parameters<Fleet['onPoll']>[0]) => {
      polls.push([group, device, ifNoneMatch]);
      return device === 'pos-2' ? ['holdfast-conflict', 'aabbccdd'] : [];
    },
  };
  const deviceInfos = createDeviceInfos({
    store: { deviceInfo: async () => ({ group: 'edge', variables: { A: 'b' }, changed: 99 }) },
    info,
    storeTimeout: () => new Promise(() => undefined),
  });
  const api = { info, deviceInfos, fleet, metrics } as unknown as Parameters<
    typeof useInfoShortcut
  >[1]['api'];
  useInfoShortcut(app, { api, authenticator, servesHost: () => true, logsRequests: () => logsRequests });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  /** Sends a poll, or a request that differs from one. */
  const send = (headers: Record<string, string | string[]> = {}, path = PATH, method = 'GET') =>
    sendRaw({ service: { address } } as Parameters<typeof sendRaw>[0], { path, headers, method });
  /** Has the credentials remembered and the reply ready, as the first poll of a group does; resolves to the reply. */
  const prepare = async () => {
    await authenticator.authenticate(AUTHORIZATION);
    return info.read('edge');
  };
  return { send, prepare, counted, polls, info, deviceInfos };
}

describe('useInfoShortcut', () => {
  it('answers the polls of a device by its own name, once its file is known', async () => {
    const { send, prepare, polls, deviceInfos } = await startServer();
    const path = '/api/v2/devices/till-1/info';
    await prepare();
    expect((await send({}, path)).text).toBe(FROM_FASTIFY);
    await deviceInfos.read('till-1');
    const first = await send({}, path);
    expect(first.text).toBe(
      '{"apps":[],"device":{"name":"till-1","device_group":"edge","variables":{"A":"b"}}}',
    );
    const etag = String(first.headers['etag']);
    expect(etag).toMatch(/\.99-/);
    expect((await send({ 'If-None-Match': etag }, `${path}?device_group=lab`)).status).toBe(304);
    expect(polls).toEqual([
      ['edge', 'till-1', undefined],
      ['edge', 'till-1', etag],
    ]);
    for (const other of [`${path}?x=1`, `${path}/`, '/api/v2/devices/till-2/info'])
      expect((await send({}, other)).text).toBe(FROM_FASTIFY);
    deviceInfos.invalidate(['device/till-1']);
    expect((await send({}, path)).text).toBe(FROM_FASTIFY);
  });

  it('answers polls with credentials that are remembered, from a reply that is ready', async () => {
    const { send, prepare, counted, polls } = await startServer();
    expect((await send()).text).toBe(FROM_FASTIFY);
    const entry = await prepare();
    const reply = await send({ 'x-request-id': 'r-1' });
    expect(reply).toMatchObject({ status: 200, text: '{"apps":[]}' });
    expect(reply.headers).toMatchObject({
      etag: entry?.etag,
      'holdfast-revision': 'abc',
      'holdfast-device-group': 'edge',
      'x-request-id': 'r-1',
    });
    const known = { 'if-none-match': `${entry?.etag}, "none"`, 'holdfast-device': 'pos-1' };
    expect(await send(known)).toMatchObject({ status: 304, text: '' });
    expect(counted).toEqual([200, 304]);
    expect(polls).toEqual([
      ['edge', undefined, undefined],
      ['edge', 'pos-1', known['if-none-match']],
    ]);
  });

  it('adds the headers that a device gets, whatever the status', async () => {
    const { send, prepare } = await startServer();
    const entry = await prepare();
    for (const etag of ['"x"', entry?.etag ?? ''])
      expect((await send({ 'holdfast-device': 'pos-2', 'if-none-match': etag })).headers).toMatchObject({
        'holdfast-conflict': 'aabbccdd',
      });
  });

  it.each<[string, { headers?: Record<string, string | string[]>; path?: string; method?: string }]>([
    ['credentials that are not remembered', { headers: { authorization: 'Basic eDp5' } }],
    ['an Origin header', { headers: { origin: 'http://elsewhere.example' } }],
    ['a body', { headers: { 'content-length': '0' } }],
    ['the method HEAD', { method: 'HEAD' }],
    ['the method POST', { method: 'POST' }],
    ['a query', { path: `${PATH}?a=1` }],
    ['an escaped letter in the path', { path: '/api/v2/device_groups/%65dge/info' }],
    ['an unknown group', { path: '/api/v2/device_groups/unknown/info' }],
    ['a header that occurs twice', { headers: { 'if-none-match': ['"a"', '"b"'] } }],
    ['an X-Request-Id that is replaced', { headers: { 'x-request-id': 'a b' } }],
  ])('leaves an unusual request to fastify: %s', async (_, { headers, path, method }) => {
    const { send, prepare, counted } = await startServer();
    await prepare();
    const reply = await send(headers, path, method);
    expect(reply.text).toBe(method === 'HEAD' ? '' : FROM_FASTIFY);
    expect(counted).toEqual([]);
  });

  it('leaves a poll to fastify if the group has changed', async () => {
    const { send, prepare, info } = await startServer();
    await prepare();
    info.invalidate(['device_group/edge']);
    expect((await send()).text).toBe(FROM_FASTIFY);
  });

  it('leaves every poll to fastify while requests are logged', async () => {
    const { send, prepare } = await startServer({ logsRequests: true });
    await prepare();
    expect((await send()).text).toBe(FROM_FASTIFY);
  });

  it.each([200, 304])('replies with the body and the headers of fastify, with status %s', async (status) => {
    const manager = await startManager({
      files: {
        'apps/web.yaml': 'container_image: web:1\nenv_vars: {A: é}\n',
        'device-groups/edge.yaml': 'apps: [web]\n',
      },
      logLevel: 'info',
    });
    const { headers } = await sendRaw(manager, { path: PATH });
    const sent = {
      'x-request-id': 'same',
      ...(status === 304 ? { 'if-none-match': `W/${headers.etag}` } : {}),
    };
    const short = await sendRaw(manager, { path: PATH, headers: sent });
    // The shortcut answers no request with a query.
    const fastify = await sendRaw(manager, { path: `${PATH}?a=1`, headers: sent });
    const { date: _date, ...rest } = fastify.headers;
    expect(short).toMatchObject({ status, text: fastify.text, headers: rest });
    expect(Object.keys(short.headers).sort()).toEqual(Object.keys(fastify.headers).sort());
    expect((await manager.get('/metrics')).text).toMatch(
      new RegExp(`requests_total\\{[^}]*/info"[^}]*status="${status}"[^}]*\\} ${status === 200 ? 3 : 2}\\n`),
    );
  });
});
