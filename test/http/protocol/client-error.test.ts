import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import Fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { answerClientError } from '../../../src/http/protocol/client-error.ts';

/** Sends these bytes to a server with short timeouts; resolves to everything that it sends before it closes the connection. */
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

describe('answerClientError', () => {
  // Not JSON, since it can be a poll, and workers stop their containers on any JSON without `apps`.
  it.each([
    ['a poll without the end of its headers', 'GET /api/v2/device_groups/edge/info HTTP/1.1\r\nHost: x\r\n'],
    [
      'a body without its end',
      'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{',
    ],
    ['a connection without any bytes', ''],
  ])('answers a request that takes too long with 408 as plain text: %s', async (_, bytes) => {
    const reply = await answerTo(bytes);
    expect(reply).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\nconnection: close\r\ncontent-type: text\/plain/,
    );
    expect(reply).toMatch(/\r\n\r\nthe request took too long to arrive\n$/);
  });

  it.each([
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['bytes of TLS', '\u0016\u0003\u0001', 400],
    [
      'both Content-Length and Transfer-Encoding',
      'GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
      400,
    ],
  ])(
    'answers bytes that cannot be parsed with a JSON error, and closes the connection: %s',
    async (_, bytes, status) => {
      const [head = '', body = ''] = (await answerTo(bytes)).split('\r\n\r\n');
      expect(head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(head).toContain('connection: close');
      expect(JSON.parse(body)).toEqual({ error: expect.any(String) });
    },
  );

  it('gives the reason of the parser', async () => {
    const reply = await answerTo('GET /\u00e9 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(reply).toMatch(/"error":"this is not an HTTP\/1.1 request: Invalid char in url path"/);
  });
});
