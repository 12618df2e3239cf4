import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { AUTHORIZATION, SMALL_FLEET } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

const INFO = '/api/v2/device_groups/edge/info';

describe('X-Content-Type-Options: nosniff', () => {
  const manager = suiteManager({ files: SMALL_FLEET, logLevel: 'info' });

  it.each([
    ['a read', 'GET /api/v2/apps', ''],
    ['a poll', `GET ${INFO}`, ''],
    ['a poll that finds nothing new', `GET ${INFO}`, 'If-None-Match: *\r\n'],
    ['the description of the API', 'GET /openapi.json', ''],
    ['the metrics', 'GET /metrics', ''],
    ['a refusal', 'GET /api/v2/apps', 'Authorization: none\r\n'],
    ['an unknown path', 'GET /unknown', ''],
    ['a wrong method', 'DELETE /healthz', ''],
    ['OPTIONS', 'OPTIONS /healthz', ''],
    ['a path that cannot be decoded', 'GET /%zz', ''],
    ['a request that is not HTTP', 'nonsense', ''],
  ])('is in every reply, once: %s', async (_, line, headers) => {
    const { hostname, port } = new URL(manager().service.address);
    // So that the reply to polls is ready.
    await manager().get(INFO);
    const socket = connect(Number(port), hostname).setEncoding('utf8');
    await once(socket, 'connect');
    const authorization = headers.startsWith('Auth') ? '' : `Authorization: ${AUTHORIZATION}\r\n`;
    socket.write(`${line} HTTP/1.1\r\nHost: a\r\n${authorization}${headers}Connection: close\r\n\r\n`);
    const [head = ''] = (await text(socket)).split('\r\n\r\n');
    expect(head.match(/^x-content-type-options: nosniff$/gim)).toHaveLength(1);
  });
});
