import { expect, it, vi } from 'vitest';
import { Connection } from '../../../src/store/mongo/connection.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { rejection } from '../contract/support.ts';
import { newDatabase, SERVER } from './place.ts';

const HEALED = { timeout: 60_000, interval: 100 };

it.skipIf(SERVER.isMissing)(
  'a new client takes the place of one that finds no server for long, and is watched from then on',
  async () => {
    const proxy = await MongoProxy.start(SERVER.uri);
    let reached = 0;
    const connection = new Connection({
      place: 'MONGODB_URI',
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
    // A watch that asks and is not answered, as long as this client lives.
    proxy.judge((command) => (/^(hello|ismaster)$/i.test(command) ? 'hang' : 'pass'));
    proxy.goAway();
    expect(await rejection(ping())).toBe('unavailable');
    proxy.comeBack();
    proxy.judge(() => 'pass');
    await vi.waitFor(ping, HEALED);
    expect(connection.term).toBeGreaterThan(term);
    // The old client can find the server first.
    for (let round = 0; round < 2 || reached < 2; round++) {
      proxy.goAway();
      expect(await rejection(ping())).toBe('unavailable');
      await expect(ping()).rejects.toMatchObject({
        kind: 'unavailable',
        message: 'the store cannot be reached: no server of MONGODB_URI accepts writes',
      });
      proxy.comeBack();
      await vi.waitFor(ping, HEALED);
    }
    await connection.close();
    expect(await rejection(ping())).toBe('unavailable');
    await proxy.stop();
  },
  SERVER.limits.timeout,
);
