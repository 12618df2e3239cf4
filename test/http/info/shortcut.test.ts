import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createAuthenticator } from '../../../src/http/access/authentication.ts';
import { plainPasswordCheck } from '../../../src/http/access/password.ts';
import { createInfoCache } from '../../../src/http/info/cache.ts';
import { useInfoShortcut } from '../../../src/http/info/shortcut.ts';
import type { GroupInfo, StoreState } from '../../../src/store/store.ts';
import { AUTHORIZATION, PASSWORD, startManager, USER } from '../../support/manager.ts';
import { sendRaw } from '../../support/raw-request.ts';

const PATH = '/api/v2/device_groups/edge/info';

/** A server that says `long way` to everything that the shortcut leaves to it. */
async function startServer({ logsRequests = false } = {}) {
  const app = Fastify();
  app.all('/*', async () => 'long way');
  const authenticator = createAuthenticator(
    [{ user: { name: USER, email: 'a@b' }, check: plainPasswordCheck(PASSWORD) }],
    () => 0,
  );
  const info = createInfoCache({
    store: {
      groupInfo: async (name) =>
        name === 'edge'
          ? ({ group: { content: { apps: [] } }, apps: [], revision: 'abc' } as unknown as GroupInfo)
          : null,
      state: async () => ({ applied: null }) as StoreState,
      changedForDevices: async () => null,
    },
    render: async () => '{"apps":[]}',
    lifetime: 1000,
    elapsed: () => 0,
    storeTimeout: () => new Promise(() => undefined),
  });
  const counted: number[] = [];
  const metrics = {
    requestCounter: (_method: string, _route: string, status: number) => () => counted.push(status),
  };
  const api = { info, metrics } as unknown as Parameters<typeof useInfoShortcut>[1]['api'];
  useInfoShortcut(app, { api, authenticator, logsRequests: () => logsRequests });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const send = (headers: Record<string, string | string[]> = {}, path = PATH, method = 'GET') =>
    sendRaw({ service: { address } } as Parameters<typeof sendRaw>[0], { path, headers, method });
  const entry = async () => {
    await authenticator.authenticate(AUTHORIZATION);
    return info.read('edge');
  };
  return { send, entry, counted, info };
}

describe('the shortcut of /info', () => {
  it('answers who is known, from a reply that is ready', async () => {
    const { send, entry, counted } = await startServer();
    expect((await send()).text).toBe('long way');
    const made = await entry();
    const reply = await send({ 'x-request-id': 'r-1' });
    expect(reply).toMatchObject({ status: 200, text: '{"apps":[]}' });
    expect(reply.headers).toMatchObject({
      etag: made?.etag,
      'holdfast-revision': 'abc',
      'x-request-id': 'r-1',
    });
    expect(await send({ 'if-none-match': made?.etag ?? '' })).toMatchObject({ status: 304, text: '' });
    expect(counted).toEqual([200, 304]);
  });

  it.each<[string, { headers?: Record<string, string | string[]>; path?: string; method?: string }]>([
    ['other credentials', { headers: { authorization: 'Basic eDp5' } }],
    ['a page of another site', { headers: { origin: 'http://elsewhere.example' } }],
    ['a body', { headers: { 'content-length': '0' } }],
    ['another method', { method: 'HEAD' }],
    ['another method with a reply', { method: 'POST' }],
    ['a query', { path: `${PATH}?a=1` }],
    ['another spelling', { path: '/api/v2/device_groups/%65dge/info' }],
    ['a group that is not there', { path: '/api/v2/device_groups/nowhere/info' }],
    ['a header that stands twice', { headers: { 'if-none-match': ['"a"', '"b"'] } }],
    ['an id that is not taken over', { headers: { 'x-request-id': 'a b' } }],
  ])('leaves the long way to %s', async (_what, { headers, path, method }) => {
    const { send, entry, counted } = await startServer();
    await entry();
    await send(headers, path, method);
    expect(counted).toEqual([]);
  });

  it('leaves the long way to what has changed', async () => {
    const { send, entry, info } = await startServer();
    await entry();
    info.invalidate(['device_group/edge']);
    expect((await send()).text).toBe('long way');
  });

  it('leaves the long way to everything while requests are logged', async () => {
    const { send, entry } = await startServer({ logsRequests: true });
    await entry();
    expect((await send()).text).toBe('long way');
  });
});

describe('both ways', () => {
  it.each([200, 304])('give the same reply of status %s', async (status) => {
    const manager = await startManager({
      files: { 'apps/web.yaml': 'container_image: wéb:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' },
      logLevel: 'info',
    });
    const { headers } = await sendRaw(manager, { path: PATH });
    const given = {
      'x-request-id': 'same',
      ...(status === 304 ? { 'if-none-match': `W/${headers.etag}` } : {}),
    };
    const short = await sendRaw(manager, { path: PATH, headers: given });
    const long = await sendRaw(manager, { path: `${PATH}?long=way`, headers: given });
    const { date: _date, ...rest } = long.headers;
    expect(short).toMatchObject({ status, text: long.text, headers: rest });
    expect(Object.keys(short.headers).sort()).toEqual(Object.keys(long.headers).sort());
    expect((await manager.get('/metrics')).text).toMatch(
      new RegExp(`requests_total\\{[^}]*/info"[^}]*status="${status}"[^}]*\\} ${status === 200 ? 3 : 2}\\n`),
    );
  });
});
