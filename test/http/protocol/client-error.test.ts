import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerClientError } from '../../../src/http/protocol/client-error.ts';

/** What a server that does not wait for long answers to these bytes, until it ends the connection. */
async function answerTo(bytes: string): Promise<string> {
  const app = Fastify({
    clientErrorHandler: answerClientError,
    http: { headersTimeout: 50, connectionsCheckingInterval: 20 },
    requestTimeout: 50,
  });
  app.all('/*', async () => 'fine');
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  const { port } = app.server.address() as AddressInfo;
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  await once(socket, 'connect');
  socket.write(bytes);
  let text = '';
  for await (const chunk of socket) text += chunk;
  return text;
}

describe('what never becomes a request', () => {
  it.each([
    ['half a poll', 'GET /api/v2/device_groups/edge/info HTTP/1.1\r\nHost: x\r\n'],
    [
      'half a body',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    ],
    ['a connection on which nothing came', ''],
  ])('%s is a 408, and no JSON: workers stop their containers at one without apps', async (_, bytes) => {
    const reply = await answerTo(bytes);
    expect(reply).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: text\/plain/,
    );
    expect(reply).toMatch(/\r\n\r\nthe request took too long to arrive\n$/);
  });

  it.each([
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['no HTTP', '\u0016\u0003\u0001', 400],
    [
      'two lengths',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
  ])('%s: an error as of every other route, and the end of the connection', async (_, bytes, status) => {
    const [head = '', body = ''] = (await answerTo(bytes)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(head).toContain('connection: close');
    expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
  });

  it('says what the parser stumbled over', async () => {
    const reply = await answerTo('GET /\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(reply).toMatch(/"error":"this is not an HTTP\/1.1 request: Invalid char in url path"/);
  });
});
