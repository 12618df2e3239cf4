import { networkInterfaces } from 'node:os';
import fastify from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listen } from '../../src/service/listen.ts';

const HAS_IPV6 = Object.values(networkInterfaces()).some((all) =>
  all?.some(({ address }) => address === '::1'),
);

async function addressOn(host: string): Promise<string> {
  const server = fastify();
  onTestFinished(() => server.close());
  return listen(server, host, 0);
}

describe('listen', () => {
  it.each([
    ['127.0.0.1', /^http:\/\/127\.0\.0\.1:\d+$/],
    ['0.0.0.0', /^http:\/\/0\.0\.0\.0:\d+$/],
  ])('resolves to the address that it listens on: %s', async (host, address) => {
    expect(await addressOn(host)).toMatch(address);
  });

  it.skipIf(!HAS_IPV6).each([
    ['::1', /^http:\/\/\[::1\]:\d+$/],
    ['::', /^http:\/\/\[::\]:\d+$/],
  ])('resolves to the IPv6 address that it listens on: %s', async (host, address) => {
    expect(await addressOn(host)).toMatch(address);
  });
});
