import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  createLink,
  type LinkSettings,
  type ManagerLink,
  type PollResult,
} from '../../../src/worker/link/link.ts';
import { buildReport } from '../../../src/worker/report.ts';
import { HAS_OPENSSL, selfSignedCertificate } from '../../support/https-origin.ts';
import { record } from '../plan/simulation.ts';
import { deviceStatus } from '../support.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const NEVER = new AbortController().signal;
const NO_TAGS = { newest: null, done: null };

/** The parts of a reply of the manager that devices need. */
function info(
  members: Record<string, unknown> = {},
  ...apps: Record<string, unknown>[]
): Record<string, unknown> {
  const list = apps.length > 0 ? apps : [{ app_name: 'web', app_id: 5 }];
  return {
    prune_id: 2,
    apps_list: list.map(({ app_name }) => app_name),
    apps: list,
    device_group_id: 3,
    ...members,
  };
}

/** Listens until the test is over; resolves to the port. */
async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket.on('error', () => undefined));
  });
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** A server that answers every request like this; resolves to its address. */
async function serve(answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(createServer(answer))}`;
}

function linkTo(manager: string, settings: Partial<LinkSettings> = {}): ManagerLink {
  const link = createLink({
    manager,
    group: 'edge',
    device: () => 'shop-17',
    instance: () => '00c0ffee',
    credentials: { user: 'devices', password: 'a:b' },
    ca: null,
    requestTimeout: 30,
    now: () => NOW,
    ...settings,
  });
  onTestFinished(() => link.close());
  return link;
}

/** Polls once a server that answers like this. */
async function poll(
  answer: RequestListener,
  settings: Partial<LinkSettings> = {},
  tags = NO_TAGS,
): Promise<PollResult> {
  return linkTo(await serve(answer), settings).poll(tags, NEVER);
}

function json(value: unknown, headers: Record<string, string> = {}, status = 200): RequestListener {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
  };
}

function text(status: number, body: string, headers: Record<string, string> = {}): RequestListener {
  return (_, response) => void response.writeHead(status, headers).end(body);
}

describe('a poll', () => {
  it('asks for the group with the account, the name of the device and no tag at first', async () => {
    const seen: IncomingMessage[] = [];
    await poll(
      (request, response) => {
        seen.push(request);
        json(info())(request, response);
      },
      { group: 'eu.west_1' },
    );
    const [{ method, url, headers } = {} as IncomingMessage] = seen;
    expect([method, url]).toEqual(['GET', '/api/v2/device_groups/eu.west_1/info']);
    expect(headers).toMatchObject({
      authorization: `Basic ${Buffer.from('devices:a:b').toString('base64')}`,
      'holdfast-device': 'shop-17',
    });
    expect(headers).not.toHaveProperty('if-none-match');
  });

  it.each([
    ['the newest alone if its work is done', '"00aa.7-x"', '"00aa.7-x"', '"00aa.7-x"'],
    ['the newest, then the one whose work is done', '"00aa.7-x"', '"00aa.6-y"', '"00aa.7-x", "00aa.6-y"'],
    ['the newest, then "none" before any work is done', '"00aa.7-x"', null, '"00aa.7-x", "none"'],
  ])('sends as tags %s', async (_name, newest, done, header) => {
    let sent: string | undefined;
    const result = await poll(
      (request, response) => {
        sent = request.headers['if-none-match'];
        response.writeHead(304).end();
      },
      {},
      { newest, done } as never,
    );
    expect(sent).toBe(header);
    expect(result).toEqual({ kind: 'unchanged' });
  });

  it('sends no name and no account that it does not have', async () => {
    let headers: IncomingMessage['headers'] = {};
    await poll(
      (request, response) => {
        headers = request.headers;
        json(info())(request, response);
      },
      { device: () => null, instance: () => null, credentials: null },
    );
    expect(Object.keys(headers).sort()).toEqual(['accept', 'connection', 'host']);
  });

  it('resolves to what the manager wants, with the apps as sent, in their order', async () => {
    const web = {
      app_name: 'web',
      app_id: 5,
      container_image: 'nginx:1',
      starting_ports: 'nonsense',
      later: 1,
    };
    const body = info({ cron_jobs: [] }, { app_name: 'b', app_id: 1 }, web);
    const result = await poll(json(body, { etag: '"0a1b.42-hash"', 'holdfast-revision': 'abc' }));
    expect(result).toEqual({
      kind: 'new',
      reply: {
        etag: '"0a1b.42-hash"',
        fleet: '0a1b',
        revision: 'abc',
        body,
        groupId: 3,
        pruneId: 2,
        apps: [
          { name: 'b', id: 1, record: { app_name: 'b', app_id: 1 } },
          { name: 'web', id: 5, record: web },
        ],
        unknownFields: ['cron_jobs', 'apps.later'],
      },
    });
  });

  it('names the fields that a newer manager has within one that is known', async () => {
    const container_image = 'nginx:1';
    const healthcheck = { test: 'true', start_interval: 5 };
    const { app_name, app_id, ...fields } = record('web', 5, { container_image });
    const body = info({}, { app_name, app_id, ...fields, healthcheck });
    expect(await poll(json(body))).toMatchObject({
      kind: 'new',
      reply: { unknownFields: ['apps.healthcheck.start_interval'] },
    });
  });

  it('shows no character of an unknown name that deceives a reader, nor more than twenty names', async () => {
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`x${index}`, 0]));
    const body = { ...info({}), 'a\u202eb': 0, [`y${'z'.repeat(500)}`]: 0, ...many };
    const result = await poll(json(body));
    const names = result.kind === 'new' ? result.reply.unknownFields : [];
    expect(names.slice(0, 2)).toEqual(['a\\u202eb', `y${'z'.repeat(63)}`]);
    expect(names).toHaveLength(20);
  });

  it.each([
    [
      'a weak tag, as the strong one',
      { etag: 'W/"0a1b.42-hash"' },
      { etag: '"0a1b.42-hash"', fleet: '0a1b' },
    ],
    ['a tag of another form', { etag: '"abc"' }, { etag: '"abc"', fleet: null }],
    ['no tag', {}, { etag: expect.stringMatching(/^"[\w-]{27}"$/), fleet: null, revision: null }],
    ['a tag that is none', { etag: 'a b' }, { etag: expect.stringMatching(/^"[\w-]{27}"$/), fleet: null }],
  ])('accepts a reply with %s', async (_name, headers, reply) => {
    expect(await poll(json(info(), headers as Record<string, string>))).toMatchObject({ kind: 'new', reply });
  });

  it('works with a manager below a path, whose reply comes in pieces, and keeps its connection', async () => {
    const paths: (string | undefined)[] = [];
    const ports = new Set<number | undefined>();
    const manager = await serve(({ url, socket }, response) => {
      paths.push(url);
      ports.add(socket.remotePort);
      const body = Buffer.from(JSON.stringify(info({ note: 'ä'.repeat(3) })));
      const middle = body.indexOf(0xc3) + 1;
      response.write(body.subarray(0, middle));
      setTimeout(() => response.end(body.subarray(middle)), 5);
    });
    const link = linkTo(`${manager}/holdfast`);
    for (let count = 0; count < 3; count++)
      expect(await link.poll(NO_TAGS, NEVER)).toMatchObject({
        kind: 'new',
        reply: { body: { note: 'äää' } },
      });
    expect(paths).toEqual(Array(3).fill('/holdfast/api/v2/device_groups/edge/info'));
    expect(ports.size).toBe(1);
  });

  it.each([
    ['another server', (path: string) => `https://fleet.example${path}`, 'to https://fleet.example,'],
    ['its own page', () => '/login', /to http:\/\/127\.0\.0\.1:\d+\/login,/],
    ['no address', () => 'http://', 'to http://,'],
  ])('follows no redirect, and names where it leads: %s', async (_name, locationOf, reason) => {
    let asked = 0;
    const result = await poll(({ url = '' }, response) => {
      asked += 1;
      response.writeHead(308, { location: locationOf(url) }).end();
    });
    const text = typeof reason === 'string' ? expect.stringContaining(reason) : expect.stringMatching(reason);
    expect(result).toEqual({ kind: 'trouble', code: 'bad-reply', text, retryAfter: null });
    expect(asked).toBe(1);
  });

  it('takes a 304 for what it is, even if it has an address', async () => {
    const manager = await serve(
      (_request, response) => void response.writeHead(304, { location: '/' }).end(),
    );
    const tags = { newest: '"1"', done: '"1"' };
    expect(await linkTo(manager).poll(tags, NEVER)).toEqual({ kind: 'unchanged' });
  });

  it('asks again at once if the manager closed the kept connection meanwhile', async () => {
    let count = 0;
    const manager = await serve((request, response) => {
      count += 1;
      // The second request comes on the kept connection, and finds it closed.
      if (count === 2) request.socket.destroy();
      else json(info())(request, response);
    });
    const link = linkTo(manager);
    await link.poll(NO_TAGS, NEVER);
    expect((await link.poll(NO_TAGS, NEVER)).kind).toBe('new');
    expect(count).toBe(3);
  });

  it('rejects if it is aborted, and works again later', async () => {
    let isHanging = true;
    const stop = new AbortController();
    const manager = await serve((request, response) => {
      if (isHanging) stop.abort(new Error('stopped'));
      else json(info())(request, response);
    });
    const link = linkTo(manager);
    await expect(link.poll(NO_TAGS, stop.signal)).rejects.toThrow('stopped');
    await expect(link.poll(NO_TAGS, stop.signal)).rejects.toThrow('stopped');
    isHanging = false;
    expect((await link.poll(NO_TAGS, NEVER)).kind).toBe('new');
  });
});

describe('a reply that is refused as nonsense', () => {
  const wrongShape = /^the reply is not that of a manager/;
  it.each<[string, RequestListener, RegExp]>([
    ['an empty body', text(200, ''), /not JSON/],
    ['a page', text(200, '<html>Please log in</html>', { 'content-type': 'text/html' }), /not JSON/],
    ['half a body', text(200, JSON.stringify(info()).slice(0, 40)), /not JSON/],
    [
      'a body that ends before its length',
      (_, response) => {
        response.writeHead(200, { 'content-length': '1000' }).write('{"apps":');
        setTimeout(() => response.destroy(), 20);
      },
      /closed in the middle/,
    ],
    ['null', json(null), wrongShape],
    ['a list', json([info()]), wrongShape],
    ['a reply of another path', json({ api_available: true }), wrongShape],
    ['no apps', json({ ...info(), apps: undefined }), wrongShape],
    [
      'no prune_id',
      json({ ...info(), prune_id: undefined }),
      /^the reply is not that of a manager: prune_id is missing$/,
    ],
    ['an id that is null', json({ ...info(), prune_id: null }), /prune_id must be a number$/],
    ['an id that is text', json(info({ device_group_id: '3' })), /device_group_id must be a number$/],
    ['an id below one', json(info({ device_group_id: 0 })), /device_group_id is too small$/],
    ['an app without an id', json(info({}, { app_name: 'web' })), /apps\.0\.app_id is missing$/],
    ['an app with an invalid name', json(info({}, { app_name: '../x', app_id: 1 })), wrongShape],
    ['a listed app that is missing', json(info({ apps_list: ['web', 'db'] })), /not those of its apps_list/],
    ['an app that is not listed', json(info({ apps_list: [] })), /not those of its apps_list/],
    [
      'apps in another order',
      json(info({ apps_list: ['b', 'a'] }, { app_name: 'a', app_id: 1 }, { app_name: 'b', app_id: 1 })),
      /not those of its apps_list/,
    ],
    [
      'an app twice',
      json(info({}, { app_name: 'a', app_id: 1 }, { app_name: 'a', app_id: 1 })),
      /names the app "a" twice/,
    ],
    [
      'a reply for another group',
      json(info(), { 'holdfast-device-group': 'lab' }),
      /for the device group "lab"/,
    ],
    [
      'that nothing changed for another group',
      text(304, '', { 'holdfast-device-group': 'lab' }),
      /for the device group "lab"/,
    ],
    [
      'more than 16 MiB',
      (_, response) => {
        response.on('error', () => undefined);
        response.end(Buffer.alloc(16 * 1024 * 1024 + 1, ' '));
      },
      /larger than 16777216 bytes/,
    ],
  ])('is one with %s', async (_name, answer, reason) => {
    expect(await poll(answer)).toEqual({
      kind: 'trouble',
      code: 'bad-reply',
      text: expect.stringMatching(reason),
      retryAfter: null,
    });
  });

  it('is one of a server that does not speak HTTP', async () => {
    const server = createTcpServer(
      (socket) => void socket.on('data', () => socket.end('220 smtp ready\r\n')),
    );
    const result = await linkTo(`http://127.0.0.1:${await listen(server)}`).poll(NO_TAGS, NEVER);
    expect(result).toMatchObject({ kind: 'trouble', code: 'bad-reply' });
  });
});

describe('a manager that cannot answer', () => {
  it.each<[string, RequestListener, RegExp, number | null]>([
    ['401', text(401, ''), /refuses the credentials \(401\)/, null],
    [
      '403 with other JSON',
      json({ access_allowed: false }, {}, 403),
      /answers 403: \{"access_allowed":false\}/,
      null,
    ],
    ['403 as text', text(403, 'device_group_exists: false'), /answers 403/, null],
    ['404 with a page', text(404, '<h1>no</h1>', { 'content-type': 'text/html' }), /answers 404$/, null],
    ['304 to a request without tags', text(304, ''), /answers 304/, null],
    ['503 with seconds to wait', text(503, 'busy', { 'retry-after': '120' }), /answers 503: busy/, 120],
    [
      '429 with a date',
      text(429, '', {
        'retry-after': 'Thu, 01 Jan 2026 00:01:30 GMT',
        date: 'Thu, 01 Jan 2026 00:01:00 GMT',
      }),
      /429/,
      30,
    ],
    ['503 with days to wait', text(503, '', { 'retry-after': '999999' }), /503/, 3600],
    ['503 with nonsense to wait', text(503, '', { 'retry-after': 'soon' }), /503/, null],
    ['500 with seconds to wait', text(500, '', { 'retry-after': '5' }), /500/, null],
  ])('answers %s', async (_name, answer, reason, retryAfter) => {
    expect(await poll(answer)).toEqual({
      kind: 'trouble',
      code: 'manager-unavailable',
      text: expect.stringMatching(reason),
      retryAfter,
    });
  });

  it('closes every connection', async () => {
    const server = createTcpServer((socket) => void socket.destroy());
    const result = await linkTo(`http://127.0.0.1:${await listen(server)}`).poll(NO_TAGS, NEVER);
    expect(result).toMatchObject({ kind: 'trouble', code: 'manager-unavailable' });
  });

  it('is not there', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    await new Promise((resolve) => server.close(resolve));
    const result = await linkTo(`http://127.0.0.1:${port}`).poll(NO_TAGS, NEVER);
    expect(result).toMatchObject({
      code: 'manager-unavailable',
      text: expect.stringMatching(new RegExp(`^http://127.0.0.1:${port}: .*ECONNREFUSED`)),
    });
  });

  it.each<[string, (request: IncomingMessage, response: ServerResponse) => void]>([
    ['before its reply', () => undefined],
    ['in the middle of its reply', (_, response) => void response.writeHead(200).write('{')],
  ])('hangs %s', async (_name, answer) => {
    const result = await poll(answer, { requestTimeout: 0.3 });
    expect(result).toMatchObject({
      kind: 'trouble',
      code: 'manager-unavailable',
      text: expect.stringContaining('no reply within 0.3 s'),
    });
  });

  it('speaks no TLS, or has a certificate that nobody signed', async () => {
    const manager = await serve(json(info()));
    const result = await linkTo(manager.replace('http:', 'https:')).poll(NO_TAGS, NEVER);
    expect(result).toMatchObject({ code: 'manager-unavailable', text: expect.stringContaining('https') });
  });
});

describe.runIf(HAS_OPENSSL)('a manager behind https', () => {
  it('is trusted if MANAGER_CA_FILE has its authority, and else named with what to do', async () => {
    const { keyFile, caFile } = await selfSignedCertificate();
    const [key, cert] = [await readFile(keyFile), await readFile(caFile, 'utf8')];
    const port = await listen(createTlsServer({ key, cert }, json(info())));
    const poll = (host: string, ca: string | null) =>
      linkTo(`https://${host}:${port}`, { ca }).poll(NO_TAGS, NEVER);
    expect((await poll('127.0.0.1', cert)).kind).toBe('new');
    expect((await poll('localhost', cert)).kind).toBe('new');
    expect(await poll('127.0.0.1', null)).toMatchObject({
      code: 'manager-unavailable',
      text: expect.stringContaining('set MANAGER_CA_FILE'),
    });
  });
});

describe('a gone device group', () => {
  it('is recognized by 403 with device_group_exists false, and nothing else', async () => {
    expect(await poll(json({ device_group_exists: false }, {}, 403))).toEqual({ kind: 'group-gone' });
    for (const [status, body] of [
      [403, { device_group_exists: true }],
      [404, { device_group_exists: false }],
      [200, { device_group_exists: false }],
      [403, [false]],
    ] as const)
      expect((await poll(json(body, {}, status))).kind).toBe('trouble');
  });
});

describe('sending a report', () => {
  const machine = { memory: null, disk: null, cpu: { cores: 1, usedPercent: 0 } };
  const report = buildReport({ status: deviceStatus(), machine, figures: new Map(), isUpdate: true, now: 1 });

  it('posts it', async () => {
    let seen = '';
    const manager = await serve(async (request, response) => {
      for await (const chunk of request) seen += chunk;
      seen = `${request.method} ${request.url} ${request.headers['content-type']} ${seen}`;
      json({})(request, response);
    });
    expect(await linkTo(manager).send(report, NEVER)).toBe('accepted');
    expect(seen).toBe(`POST /api/v2/reports application/json ${JSON.stringify(report)}`);
  });

  it.each([
    [200, 'accepted'],
    [204, 'accepted'],
    [400, 'refused'],
    [413, 'refused'],
    [401, 'failed'],
    [404, 'failed'],
    [302, 'failed'],
    [503, 'failed'],
  ])('with the answer %i is %s', async (status, result) => {
    expect(await linkTo(await serve(text(status, '', { location: '/' }))).send(report, NEVER)).toBe(result);
  });

  it('to nobody is failed', async () => {
    const server = createTcpServer((socket) => void socket.destroy());
    expect(await linkTo(`http://127.0.0.1:${await listen(server)}`).send(report, NEVER)).toBe('failed');
  });
});
