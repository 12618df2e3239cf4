import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../src/faults.ts';
import { temporaryFolder } from '../support/folder.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import { orphanedProcesses } from '../support/orphans.ts';
import { type ProcessManager, type ProcessOptions, startProcessManager } from '../support/process-manager.ts';
import { randomNumbers } from '../support/random.ts';
import { Client, dieAt, FIRST_FAULTS, faultsInWrites } from './fleet-model.ts';

/** An origin, and the options of a manager that follows it. */
interface Fleet {
  origin: TestOrigin;
  options: ProcessOptions;
}

async function newFleet(): Promise<Fleet> {
  const origin = await testOrigin(SMALL_FLEET);
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state' };
  return { origin, options: { repository: origin.user, dataFolder, env } };
}

/** Checks that nothing is missing or damaged in origin and in the mirror. */
async function expectBothIntact({ origin, options }: Fleet): Promise<void> {
  await expectIntact(origin.url);
  await expectIntact(join(options.dataFolder, 'mirror.git'));
}

/** Starts a manager next to the git processes of a killed one; resolves when these have ended and a pass has run since. */
async function startAfterKill({ origin, options }: Fleet): Promise<ProcessManager> {
  const untilOrphansEnd = await orphanedProcesses(origin.url, options.dataFolder);
  const manager = await startProcessManager(options);
  await untilOrphansEnd();
  await manager.request('POST', '/api/v2/reconcile');
  return manager;
}

/** Starts the manager again, and checks that it has every acknowledged write and accepts writes. */
async function expectRecovered(fleet: Fleet, client: Client): Promise<void> {
  const manager = await startAfterKill(fleet);
  await client.expectKept(manager, fleet.origin.bare);
  await expectBothIntact(fleet);
  expect(await client.writeUntilDeath(manager, 3)).toBe(3);
  await client.expectKept(manager, fleet.origin.bare);
  const { body } = await manager.request('GET', '/api/v2/reconcile');
  expect(body.revision_applied).toBe(await fleet.origin.bare.git('rev-parse', 'main'));
  expect(await manager.stop()).toBe(0);
  await expectBothIntact(fleet);
}

/** Points that are reached only in a clone. */
const OF_A_CLONE: readonly FaultPoint[] = ['repository-begun', 'branch-synced'];

describe('a manager of an origin that is killed', () => {
  it.each(faultsInWrites(OF_A_CLONE))(
    'at %s during writes has every acknowledged write at origin, and serves it at its next start',
    async (fault) => {
      const fleet = await newFleet();
      const client = new Client();
      await dieAt(fleet.options, fault, client);
      await expectRecovered(fleet, client);
    },
  );

  it.each(FIRST_FAULTS)(
    'at %s of its first start serves and writes the fleet at its next start',
    async (fault) => {
      const fleet = await newFleet();
      const client = new Client();
      await dieAt(fleet.options, fault, client);
      await expectRecovered(fleet, client);
    },
  );

  it('at random times, again and again, keeps every acknowledged write', async () => {
    const fleet = await newFleet();
    const client = new Client();
    const random = randomNumbers();
    for (let round = 0; round < 12; round++) {
      const manager = await startAfterKill(fleet);
      await client.expectKept(manager, fleet.origin.bare);
      const timer = setTimeout(() => void manager.kill(), random() * 600);
      await client.writeUntilDeath(manager, 500);
      clearTimeout(timer);
      await manager.kill();
      await expectBothIntact(fleet);
    }
    await expectRecovered(fleet, client);
  });
});
