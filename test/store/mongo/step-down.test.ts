import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import { AT, app, appId, appStep, CONTEXT, pass } from '../contract/support.ts';
import { openInNewDatabase, SERVER } from './place.ts';

const members = await replicaSetMembers();
if (!SERVER.isMissing && members < 3)
  process.stdout.write('the server is no replica set of three: no primary was told to step down\n');

/** How many members the set has that the server is in; 0 where it is in none. */
async function replicaSetMembers(): Promise<number> {
  if (SERVER.isMissing) return 0;
  const client = new MongoClient(SERVER.uri);
  try {
    const { hosts } = await client
      .db('admin')
      .command({ hello: 1 })
      .catch(() => ({ hosts: null }));
    return Array.isArray(hosts) ? hosts.length : 0;
  } finally {
    await client.close();
  }
}

/** Tells the primary to be none for some seconds; the connection may break over it. */
async function stepDown(): Promise<void> {
  const client = new MongoClient(SERVER.uri);
  try {
    await client.db('admin').command({ replSetStepDown: 20, secondaryCatchUpPeriodSecs: 10, force: true });
  } catch {
    // The primary closes connections when it steps down.
  } finally {
    await client.close();
  }
}

it.skipIf(members < 3)(
  'a primary that steps down: no restart is lost or counted twice, and calls heal by themselves',
  async () => {
    const place = await openInNewDatabase();
    await pass(place.store, [appStep('web', app('v1'))], 'r1');
    const first = (await appId(place.store, 'web')) ?? 0;
    const outcomes = { done: 0, unknown: 0 };
    let isOver = false;
    const restart = async (): Promise<void> => {
      try {
        await place.store.restartApp('web', { ...CONTEXT, at: AT });
        outcomes.done += 1;
      } catch (error) {
        expect(kindOf(error)).toBe('unavailable');
        outcomes.unknown += 1;
      }
    };
    const load = (async () => {
      while (!isOver) await restart();
    })();
    for (let round = 0; round < 2; round++) {
      const before = outcomes.done;
      await expect.poll(() => outcomes.done, { timeout: 60_000 }).toBeGreaterThan(before + 5);
      await stepDown();
      const after = outcomes.done;
      await expect.poll(() => outcomes.done, { timeout: 60_000 }).toBeGreaterThan(after + 5);
      await sleep(1000);
    }
    isOver = true;
    await load;
    const raised = ((await appId(place.store, 'web')) ?? 0) - first;
    expect(raised).toBeGreaterThanOrEqual(outcomes.done);
    expect(raised).toBeLessThanOrEqual(outcomes.done + outcomes.unknown);
    expect(await place.store.operations(null, 10_000)).toHaveLength(raised);
    await place.cleanup();
  },
  SERVER.limits.timeout,
);
