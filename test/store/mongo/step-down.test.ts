import { setTimeout as sleep } from 'node:timers/promises';
import { MongoClient } from 'mongodb';
import { expect, it } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import { AT, app, appId, appStep, CONTEXT, operationsOf, pass } from '../contract/support.ts';
import { openInNewDatabase, SERVER } from './test-database.ts';

const members = await replicaSetMembers();
if (!SERVER.isMissing && members < 3)
  process.stdout.write(
    'the server is not a replica set of three: the test of a primary that steps down is skipped\n',
  );

/** The number of members of the server's replica set; 0 if it is in none. */
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

/** Makes the primary step down for some seconds. */
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
  'a primary that steps down loses no restart and counts none twice, and calls succeed again without a reopening',
  async () => {
    const opened = await openInNewDatabase();
    await pass(opened.store, [appStep('web', app('v1'))], 'r1');
    const first = (await appId(opened.store, 'web')) ?? 0;
    const outcomes = { done: 0, unknown: 0 };
    let isOver = false;
    const restart = async (): Promise<void> => {
      try {
        await opened.store.restartApp('web', { ...CONTEXT, at: AT });
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
    const raised = ((await appId(opened.store, 'web')) ?? 0) - first;
    expect(raised).toBeGreaterThanOrEqual(outcomes.done);
    expect(raised).toBeLessThanOrEqual(outcomes.done + outcomes.unknown);
    expect(await operationsOf(opened.store)).toHaveLength(raised);
    await opened.cleanup();
  },
  SERVER.limits.timeout,
);
