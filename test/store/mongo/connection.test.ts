import { expect, it, vi } from 'vitest';
import { Connection } from '../../../src/mongo/connection.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { rejection } from '../contract/support.ts';
import { newDatabase, SERVER } from './test-database.ts';

const LIMITS = { timeout: 60_000, interval: 100 };

it.skipIf(SERVER.isMissing)(
  'a connection that has found no server for long continues with a new client, which it monitors',
  async () => {
    const proxy = await MongoProxy.start(SERVER.uri);
    let reached = 0;
    const connection = new Connection({
      uri: proxy.uri,
      database: newDatabase(),
      prepare: () => Promise.resolve(),
      onServer: () => {
        reached += 1;
      },
      renewAfter: 0,
    });
    const ping = (): Promise<unknown> => connection.run((db) => db.command({ ping: 1 }));
    await ping();
    const term = connection.term;
    await ping();
    expect(connection.term).toBe(term);
    // The monitor of the old client never gets an answer.
    proxy.judge((command) => (/^(hello|ismaster)$/i.test(command) ? 'hang' : 'pass'));
    proxy.goAway();
    expect(await rejection(ping())).toBe('unavailable');
    proxy.comeBack();
    proxy.judge(() => 'pass');
    await vi.waitFor(ping, LIMITS);
    expect(connection.term).toBeGreaterThan(term);
    // The old client may find the server before the new one does.
    for (let round = 0; round < 2 || reached < 2; round++) {
      proxy.goAway();
      expect(await rejection(ping())).toBe('unavailable');
      await expect(ping()).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'the store cannot be reached: no server of MONGODB_URI accepts writes',
      });
      proxy.comeBack();
      await vi.waitFor(ping, LIMITS);
    }
    await connection.close();
    expect(await rejection(ping())).toBe('unavailable');
    await proxy.stop();
  },
  SERVER.limits.timeout,
);

it.skipIf(SERVER.isMissing)(
  'a connection uses its own limits where the address sets others that contradict them',
  async () => {
    const proxy = await MongoProxy.start(SERVER.uri);
    const connection = new Connection({
      uri: `${proxy.uri}&minPoolSize=30&maxPoolSize=40`,
      database: newDatabase(),
      prepare: () => Promise.resolve(),
      onServer: () => undefined,
    });
    try {
      expect(await connection.run((db) => db.command({ ping: 1 }))).toMatchObject({ ok: 1 });
    } finally {
      await connection.close();
      await proxy.stop();
    }
  },
  SERVER.limits.timeout,
);
