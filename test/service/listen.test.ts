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
  ])('tells on which address it listens: %s', async (host, address) => {
    expect(await addressOn(host)).toMatch(address);
  });

  it.skipIf(!HAS_IPV6).each([
    ['::1', /^http:\/\/\[::1\]:\d+$/],
    ['::', /^http:\/\/\[::\]:\d+$/],
  ])('tells on which address of IPv6 it listens: %s', async (host, address) => {
    expect(await addressOn(host)).toMatch(address);
  });
});
