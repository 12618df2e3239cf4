import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { expectNothingWritten, expectRefused } from '../support/manager-state.ts';
import { JSON_TYPE, sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { REASON } from './expected.ts';

const MIB = 2 ** 20;

/** Creates an app with a body in these parts, and reads only when all are sent. Resolves to all that the server sends. */
async function sendBeforeReading(
  manager: TestManager,
  framing: string,
  parts: Iterable<string> | AsyncIterable<string>,
): Promise<string> {
  const { hostname, port, host } = new URL(manager.service.address);
  const socket = connect(Number(port), hostname);
  const head = ['POST /api/v2/apps/proxied HTTP/1.1', `Host: ${host}`, `Authorization: ${AUTHORIZATION}`];
  const all = async function* () {
    yield [...head, 'Content-Type: application/json', framing, '', ''].join('\r\n');
    yield* parts;
  };
  await pipeline(all, socket, { end: false });
  return text(socket);
}

/** Every path with its methods (docs/contract.md, 4.1 and 4.5). */
const PATHS: readonly (readonly [path: string, methods: readonly string[]])[] = [
  ['/api/v2/status', ['GET', 'HEAD']],
  ['/api/v2/apps', ['GET', 'HEAD']],
  ['/api/v2/apps/web', ['DELETE', 'GET', 'HEAD', 'POST']],
  ['/api/v2/apps/web/stop', ['POST']],
  ['/api/v2/apps/web/start', ['POST']],
  ['/api/v2/apps/web/restart', ['POST']],
  ['/api/v2/apps/web/update', ['PATCH', 'POST', 'PUT']],
  ['/api/v2/prune', ['POST']],
  ['/api/v2/device_groups', ['GET', 'HEAD']],
  ['/api/v2/device_groups/edge', ['DELETE', 'GET', 'HEAD', 'POST']],
  ['/api/v2/device_groups/edge/info', ['GET', 'HEAD']],
  ['/api/v2/device_groups/edge/update', ['PATCH', 'POST', 'PUT']],
  ['/api/v2/device_groups/edge/prune', ['POST']],
  ['/api/v2/reports', ['GET', 'HEAD', 'POST']],
  ['/api/v2/reconcile', ['GET', 'HEAD', 'POST']],
  ['/healthz', ['GET', 'HEAD']],
  ['/readyz', ['GET', 'HEAD']],
];

/** The methods of an `Allow` header but `OPTIONS`, sorted. */
function allowed(header: string | undefined): string[] {
  return (header ?? '')
    .split(/\s*,\s*/)
    .filter((method) => method !== 'OPTIONS')
    .sort();
}

/** Methods of the API, and methods of other protocols that no route has. */
const METHODS: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'TRACE',
  'PROPFIND',
  'LOCK',
  'PURGE',
  'SEARCH',
  'QUERY',
];

describe('docs/contract.md, 5.1: routes and methods', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each(PATHS)('wrong method 405 with Allow; OPTIONS 204 with Allow: %s', async (path, methods) => {
    const options = await sendRaw(manager(), { method: 'OPTIONS', path });
    expect(options.status).toBe(204);
    expect(options.text).toBe('');
    expect(allowed(options.headers.allow)).toEqual(methods);
    for (const method of METHODS.filter((one) => !methods.includes(one))) {
      const reply = await sendRaw(manager(), { method, path });
      expect(reply.status, method).toBe(405);
      expect(allowed(reply.headers.allow), method).toEqual(methods);
      if (method !== 'HEAD') expect(reply.body, method).toEqual({ error: REASON });
    }
  });

  it.each([
    ['with an escaped letter', '/api/v2/%61pps', 'GET, HEAD, OPTIONS'],
    ['with scheme and host', 'http://fleet.example/api/v2/apps?x', 'GET, HEAD, OPTIONS'],
    ['with an empty name', '/api/v2/device_groups//info', 'GET, HEAD, OPTIONS'],
  ])('wrong method 405 with Allow, also for a path %s', async (_, path, allow) => {
    for (const method of ['PUT', 'PROPFIND']) {
      const reply = await sendRaw(manager(), { method, path });
      expect([reply.status, reply.headers.allow], method).toEqual([405, allow]);
    }
  });

  it.each(PATHS.filter(([, methods]) => methods.includes('HEAD')))(
    'HEAD is GET without the body: %s',
    async (path) => {
      const [get, head] = [
        await sendRaw(manager(), { path }),
        await sendRaw(manager(), { method: 'HEAD', path }),
      ];
      expect(head.status).toBe(get.status);
      expect(head.text).toBe('');
      for (const name of ['content-type', 'content-length', 'etag', 'holdfast-revision'])
        expect(head.headers[name], name).toBe(get.headers[name]);
    },
  );

  it('HEAD is GET without the body, also for an app that does not exist', async () => {
    const reply = await sendRaw(manager(), { method: 'HEAD', path: '/api/v2/apps/nope' });
    expect([reply.status, reply.text]).toEqual([403, '']);
  });

  it.each([
    '/api',
    '/api/v2',
    '/api/v1/apps',
    '/api/v3/apps',
    '/api/v2/app',
    '/api/v2/apps/web/update/now',
    '/api/v2/apps/web/pause',
    '/api/v2/device_groups/edge/info/x',
    '/API/v2/apps',
    '/nothing',
    '/favicon.ico',
    '/openapi_json',
    '/package.json',
    '/..%2f..%2fetc%2fpasswd',
  ])('Unknown route 404 {"error": "..."}: %s', async (path) => {
    for (const method of ['GET', 'POST', 'OPTIONS', 'PROPFIND']) {
      const reply = await sendRaw(manager(), { method, path });
      expect(reply.status, method).toBe(404);
      expect(reply.body, method).toEqual({ error: REASON });
    }
  });
});

describe('docs/contract.md, 5.2: Bodies', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const body = '{"container_image":"x"}';

  it.each([
    'text/plain',
    'text/plain; charset=utf-8',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'text/html',
    'application/octet-stream',
    'application/xml',
    'application/yaml',
    'text/json',
    'application/jsonp',
    'text/plain, application/json',
    'text/plain; application/json',
    'application/json; charset=utf-16',
    'application/json; charset="latin1"; x=y',
    '',
    'x',
  ])('anything else with a body is 415: %j', async (type) => {
    const headers = { 'content-type': type };
    await expectNothingWritten(manager(), async () => {
      for (const [method, path] of [
        ['POST', '/api/v2/apps/fresh'],
        ['PUT', '/api/v2/apps/web/update'],
        ['POST', '/api/v2/apps/web/stop'],
        ['DELETE', '/api/v2/apps/web'],
        ['POST', '/api/v2/reports'],
        ['POST', '/api/v2/device_groups/edge/update'],
        ['POST', '/api/v2/prune'],
      ] as const) {
        const reply = await sendRaw(manager(), { method, path, body, headers });
        expect(reply.status, path).toBe(415);
        expect(reply.body, path).toEqual({ error: REASON });
      }
    });
  });

  it.each([
    ['none', {}],
    ['application/json', { 'content-type': 'application/json' }],
    ['application/json; charset=utf-8', { 'content-type': 'application/json; charset=utf-8' }],
    ['application/json;charset=UTF-8', { 'content-type': 'application/json;charset=UTF-8' }],
    ['Application/JSON', { 'content-type': 'Application/JSON' }],
    ['charset=utf8', { 'content-type': 'application/json; charset=utf8' }],
    ['charset in quotes', { 'content-type': 'application/json ; Charset="UTF-8"' }],
    ['an unrelated parameter', { 'content-type': 'application/json; odata.metadata=minimal' }],
    ['a semicolon at the end', { 'content-type': 'application/json;' }],
    ['Content-Encoding: Identity', { ...JSON_TYPE, 'content-encoding': 'Identity' }],
  ])('Content-Type: application/json or none: %s', async (label, headers) => {
    const path = `/api/v2/apps/type-${label.replace(/[^a-z]+/gi, '-')}`;
    const reply = await sendRaw(manager(), { method: 'POST', path, body, headers });
    expect(reply.status).toBe(200);
    expect(reply.body.container_image).toBe('x');
  });

  it.each([
    ['application/json', { 'content-type': 'application/json' }],
    ['application/json with an empty body', { 'content-type': 'application/json', 'content-length': '0' }],
    ['text/plain', { 'content-type': 'text/plain' }],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['an empty header', { 'content-type': '' }],
    ['a type without a slash', { 'content-type': 'x' }],
    ['two types', { 'content-type': 'text/plain, application/json' }],
    ['another type and gzip encoding', { 'content-type': 'a/b', 'content-encoding': 'gzip' }],
  ])('a request without a body can have any Content-Type: %s', async (_, headers) => {
    const send = (method: string, path: string) => sendRaw(manager(), { method, path, headers });
    expect((await send('POST', '/api/v2/apps/cron/stop')).status).toBe(202);
    expect((await send('POST', '/api/v2/device_groups/edge/prune')).status).toBe(202);
    expect((await send('DELETE', '/api/v2/apps/nope')).body).toEqual({ app_exists: false });
    expect((await send('POST', '/api/v2/apps/none')).body).toEqual({
      missing_parameters: ['container_image'],
    });
  });

  it('a body with gzip encoding is 415, and the reply names the encoding', async () => {
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    const reply = await expectRefused(manager(), 415, () =>
      sendRaw(manager(), {
        method: 'POST',
        path: '/api/v2/apps/fresh',
        body: Uint8Array.of(0x1f, 0x8b, 8, 0),
        headers,
      }),
    );
    expect(reply.body.error).toContain('Content-Encoding');
    expect(reply.body.error).toContain('gzip');
  });

  it.each([
    ['POST', '/api/v2/reports', '{'],
    ['POST', '/api/v2/reports', '{"hostname": "a",}'],
    ['PUT', '/api/v2/apps/web/update', '{"running": false'],
    ['PATCH', '/api/v2/device_groups/edge/update', 'apps: []'],
    ['PUT', '/api/v2/apps/web/update', Uint8Array.of(0x22, 0xff, 0x22)],
  ])(
    'malformed JSON 400 {"error": "..."} where no row above says otherwise: %s %s %s',
    async (method, path, raw) => {
      const reply = await expectRefused(manager(), 400, () =>
        sendRaw(manager(), { method, path, body: raw, headers: JSON_TYPE }),
      );
      expect(reply.body).toEqual({
        error: expect.stringMatching(/^the body is not JSON: .*(position|token|utf-8)/),
      });
    },
  );

  it('malformed JSON 400: at most one character of the body, which can hold secrets, is in the reply', async () => {
    const body = '{"env_vars": {"PASSWORD": hunter2}}';
    const request = { method: 'PUT', path: '/api/v2/apps/web/update', body, headers: JSON_TYPE };
    const reply = await sendRaw(manager(), request);
    expect(reply.body).toEqual({ error: "the body is not JSON: Unexpected token 'h'" });
  });

  it('a report without a body is 400, and the reply asks for JSON', async () => {
    const reply = await manager().post('/api/v2/reports');
    expect([reply.status, reply.body]).toEqual([400, { error: 'the body is missing; send JSON' }]);
  });

  it.each([
    ['1 MiB is accepted', MIB, 200],
    ['1 MiB and one byte is 413', MIB + 1, 413],
    ['8 MiB is 413', 8 * MIB, 413],
  ])('over 1 MiB 413: %s', async (_, size, status) => {
    const text = `${' '.repeat(size - body.length)}${body}`;
    const path = `/api/v2/apps/size-${size}`;
    const headers = { ...JSON_TYPE, connection: 'keep-alive' };
    const reply = await sendRaw(manager(), { method: 'POST', path, body: text, headers });
    expect(reply.status).toBe(status);
    // The rest of a body that is too large is not read.
    expect(reply.headers.connection).toBe(status === 413 ? 'close' : 'keep-alive');
    if (status === 413) expect(reply.body).toEqual({ error: REASON });
    expect((await manager().get(path)).status).toBe(status === 413 ? 403 : 200);
  });

  it('over 1 MiB 413: also for a chunked body, whose length is not declared', async () => {
    const { hostname, port } = new URL(manager().service.address);
    const status = await new Promise<number>((resolve, reject) => {
      const headers = { ...JSON_TYPE, authorization: AUTHORIZATION, 'transfer-encoding': 'chunked' };
      const path = '/api/v2/apps/chunked';
      const sent = httpRequest({ hostname, port, method: 'POST', path, headers, agent: false }, (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      });
      sent.on('error', reject);
      sent.write(' '.repeat(MIB));
      sent.end(body);
    });
    expect(status).toBe(413);
    expect((await manager().get('/api/v2/apps/chunked')).status).toBe(403);
  });

  it.each([
    ['with a declared length', `Content-Length: ${12 * MIB}`, [' '.repeat(12 * MIB)]],
    [
      'in chunks',
      'Transfer-Encoding: chunked',
      [`${(12 * MIB).toString(16)}\r\n`, ' '.repeat(12 * MIB), '\r\n0\r\n\r\n'],
    ],
  ])('over 1 MiB 413: also to a proxy, which sends all before it reads: %s', async (_, framing, parts) => {
    expect(await sendBeforeReading(manager(), framing, parts)).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('over 1 MiB 413: also to a proxy that needs more than a second for the rest', async () => {
    const slowly = async function* () {
      for (let part = 0; part < 6; part++) {
        await sleep(part === 0 ? 0 : 400);
        yield ' '.repeat(MIB);
      }
    };
    expect(await sendBeforeReading(manager(), `Content-Length: ${6 * MIB}`, slowly())).toMatch(
      /^HTTP\/1\.1 413 /,
    );
  });

  it('over 1 MiB 413: at once if the rest would be too much to read', async () => {
    expect(await sendBeforeReading(manager(), `Content-Length: ${2 ** 40}`, [' '])).toMatch(
      /^HTTP\/1\.1 413 /,
    );
  });

  it('setting BODY_LIMIT, bytes: bodies up to this size are accepted, larger ones are 413', async () => {
    const small = await startManager({ files: SMALL_FLEET, settings: { BODY_LIMIT: '2048' } });
    const send = (size: number) =>
      sendRaw(small, {
        method: 'POST',
        path: `/api/v2/apps/size-${size}`,
        body: body.padStart(size),
        headers: JSON_TYPE,
      });
    expect((await send(2048)).status).toBe(200);
    expect((await send(2049)).status).toBe(413);
  });
});

describe('docs/contract.md, 6.4: A request whose Origin is not this server is refused with 403', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([
    'https://evil.example',
    'http://evil.example:8080',
    'null',
    'http://127.0.0.1',
    'http://127.0.0.1:1',
    'http://127.0.0.1.evil.example',
    'file://',
    'nonsense',
    'chrome-extension://abcdef',
  ])('for reads and for writes, and nothing is written: %s', async (origin) => {
    await expectNothingWritten(manager(), async () => {
      for (const [method, path] of [
        ['GET', '/api/v2/apps'],
        ['POST', '/api/v2/apps/web/stop'],
        ['POST', '/api/v2/apps/web/restart'],
        ['POST', '/api/v2/prune'],
        ['DELETE', '/api/v2/apps/web'],
        ['POST', '/api/v2/reconcile'],
      ] as const) {
        const reply = await sendRaw(manager(), { method, path, headers: { origin } });
        expect(reply.status, path).toBe(403);
        expect(reply.body, path).toBeTypeOf('object');
      }
    });
  });

  it('but one whose Origin is this server is accepted', async () => {
    const headers = { origin: manager().service.address };
    expect((await sendRaw(manager(), { path: '/api/v2/apps', headers })).status).toBe(200);
    expect(
      (await sendRaw(manager(), { method: 'POST', path: '/api/v2/apps/web/stop', headers })).status,
    ).toBe(202);
  });
});
