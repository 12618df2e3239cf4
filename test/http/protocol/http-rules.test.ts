import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, SMALL_FLEET } from '../../support/manager.ts';
import { suiteManager } from '../../support/suite.ts';

describe('the rules of HTTP/1.1', () => {
  const manager = suiteManager({ files: SMALL_FLEET, logLevel: 'info' });

  /** Sends a GET with these lines after its first ones; resolves to the reply once the server has closed the connection. */
  async function answerTo(
    lines: readonly string[],
    { path = '/api/v2/apps', version = '1.1', authorization = AUTHORIZATION, connection = 'close' } = {},
  ) {
    const { hostname, port } = new URL(manager().service.address);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    await once(socket, 'connect');
    const head = [
      `GET ${path} HTTP/${version}`,
      `Authorization: ${authorization}`,
      `Connection: ${connection}`,
    ];
    socket.write(`${[...head, ...lines].join('\r\n')}\r\n\r\n`);
    let text = '';
    for await (const chunk of socket) text += chunk;
    const [first = '', body = ''] = text.split('\r\n\r\n');
    return { status: Number(first.split(' ')[1]), head: first.toLowerCase(), body };
  }

  const INFO = '/api/v2/device_groups/edge/info';

  it.each<[string, string[], string]>([
    ['no Host', [], '/api/v2/apps'],
    ['two Hosts', ['Host: a', 'Host: b'], '/api/v2/apps'],
    ['no Host, in a poll', [], INFO],
    ['two Hosts, in a poll', ['Host: a', 'host: a'], INFO],
    ['no Host, for an unknown path', [], '/unknown'],
  ])('refuse a request with a JSON error that names the header: %s', async (_, lines, path) => {
    expect((await answerTo(['Host: a'], { path: INFO })).status, 'a reply is ready for polls').toBe(200);
    // The server closes the connection even if the client would keep it.
    const reply = await answerTo(lines, { path, connection: 'keep-alive' });
    expect(reply.status).toBe(400);
    expect(reply.head).toContain('connection: close');
    expect(JSON.parse(reply.body)).toEqual({ error: expect.stringContaining('Host') });
    expect(reply.head).toContain('content-type: application/json; charset=utf-8');
    expect(reply.head).toMatch(/x-request-id: \S+/);
    // This check comes before credentials, so the reply must not reveal anything about the fleet.
    expect(reply.head).not.toContain('holdfast-revision');
  });

  it.each<[string, string[], string]>([
    ['an empty Host', ['Host:'], '1.1'],
    ['no Host in HTTP/1.0, which does not define it', [], '1.0'],
    ['any expectation in HTTP/1.0, where it is ignored (RFC 9110, 10.1.1)', ['Expect: nonsense'], '1.0'],
    ['the expectation 100-continue', ['Host: a', 'Expect: 100-continue'], '1.1'],
  ])('allow %s', async (_, lines, version) => {
    for (const path of ['/api/v2/apps', INFO])
      expect((await answerTo(lines, { path, version })).head).toMatch(/^http\/1.1 [12]0/);
  });

  it.each([
    ['a target with scheme and host (RFC 9112, 3.2.2)', 'http://fleet.example/api/v2/apps'],
    ['the same with scheme and host in capitals, and a query', 'HTTP://FLEET.EXAMPLE:80/api/v2/apps?x=1'],
    ['a letter that is escaped without need', '/api/v2/%61pps'],
  ])('make another spelling the same path, which needs the same credentials: %s', async (_, path) => {
    const reply = await answerTo(['Host: a'], { path });
    expect([reply.status, reply.body]).toEqual([200, (await manager().get('/api/v2/apps')).text]);
    expect((await answerTo(['Host: a'], { path, authorization: 'Basic bad' })).status).toBe(401);
  });

  it('lose no header of a request with more than two thousand, which is where Node stops by default', async () => {
    const many = Array<string>(2100).fill('X:');
    expect((await answerTo([...many, 'Host: a', 'If-None-Match: *'], { path: INFO })).status).toBe(304);
    expect((await answerTo(['Host: a', ...many, 'Host: b'])).status).toBe(400);
  });

  it('refuse a header that continues in the next line (RFC 9112, 5.2)', async () => {
    const reply = await answerTo(['Host: a', 'If-None-Match: "x",', ' "y"'], { path: INFO });
    expect([reply.status, JSON.parse(reply.body)]).toEqual([400, { error: expect.any(String) }]);
  });

  it('join a header that occurs twice into one list (RFC 9110, 5.3)', async () => {
    const tag = (await manager().get(INFO)).headers.get('etag');
    const lines = ['Host: a', 'If-None-Match: "x"', `If-None-Match: ${tag}`];
    expect((await answerTo(lines, { path: INFO })).status).toBe(304);
  });

  it('do not make a body that breaks off an internal error in the log', async () => {
    const { hostname, port } = new URL(manager().service.address);
    const socket = connect(Number(port), hostname);
    const head = ['PUT /api/v2/apps/web/update HTTP/1.1', 'Host: a', `Authorization: ${AUTHORIZATION}`];
    socket.write([...head, 'X-Request-Id: broken', 'Content-Length: 9', '', '{'].join('\r\n'));
    await once(socket, 'connect');
    // By the reply to a later request, the manager has seen what came before it.
    await manager().get('/api/v2/apps');
    socket.resetAndDestroy();
    for (let turn = 0; turn < 3; turn++) await manager().get('/api/v2/apps');
    expect(manager().log.filter(({ reqId }) => reqId === 'broken')).toEqual([]);
  });

  it('answer pipelined requests in their order', async () => {
    const { hostname, port } = new URL(manager().service.address);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    await once(socket, 'connect');
    const requestOf = (line: string, end = '') =>
      `${line} HTTP/1.1\r\nHost: a\r\nAuthorization: ${AUTHORIZATION}\r\n${end}\r\n`;
    const stop = requestOf('POST /api/v2/apps/web/stop');
    socket.write(requestOf(`GET ${INFO}`) + stop + requestOf(`GET ${INFO}`, 'Connection: close\r\n'));
    let text = '';
    for await (const chunk of socket) text += chunk;
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 202', 'HTTP/1.1 200']);
  });
});
