import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../src/faults.ts';
import { temporaryFolder } from '../support/folder.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { type TestOrigin, testOrigin } from '../support/origin.ts';
import { orphanedProcesses } from '../support/orphans.ts';
import { type ProcessManager, type ProcessOptions, startProcessManager } from '../support/process-manager.ts';
import { Client, dieAt, FIRST_FAULTS, faultsInWrites } from './fleet-model.ts';

interface Place {
  origin: TestOrigin;
  options: ProcessOptions;
}

async function newPlace(): Promise<Place> {
  const origin = await testOrigin(SMALL_FLEET);
  const dataFolder = join(await temporaryFolder(), 'data');
  const env = { GIT_REMOTE: origin.url, DESIRED_STATE: 'desired-state' };
  return { origin, options: { repository: origin.person, dataFolder, env } };
}

/** Origin and mirror are whole, and nothing keeps git from working in them. */
async function expectSound({ origin, options }: Place): Promise<void> {
  await expectIntact(origin.url);
  await expectIntact(join(options.dataFolder, 'mirror.git'));
}

/** Starts a manager beside what a dead one has left at work; it has seen what came of that when this resolves. */
async function startAfterDeath({ origin, options }: Place): Promise<ProcessManager> {
  const leftToEnd = await orphanedProcesses(origin.url, options.dataFolder);
  const manager = await startProcessManager(options);
  await leftToEnd();
  await manager.request('POST', '/api/v2/reconcile');
  return manager;
}

/** The next start finds everything as it was answered, and works. */
async function expectRecovered(place: Place, client: Client): Promise<void> {
  const manager = await startAfterDeath(place);
  await client.expectKept(manager, place.origin.bare);
  await expectSound(place);
  expect(await client.writeUntilDeath(manager, 3)).toBe(3);
  await client.expectKept(manager, place.origin.bare);
  const { body } = await manager.request('GET', '/api/v2/reconcile');
  expect(body.revision_applied).toBe(await place.origin.bare.git('rev-parse', 'main'));
  expect(await manager.stop()).toBe(0);
  await expectSound(place);
}

/** Points of a checkout, which a mirror does not come by. */
const OF_A_CHECKOUT: readonly FaultPoint[] = [
  'repository-begun',
  'undo-begins',
  'undo-done',
  'switch-noted',
  'tree-switched',
  'branch-synced',
  'publish-done',
];

describe('the process is killed, with a repository elsewhere', () => {
  it.each(faultsInWrites(OF_A_CHECKOUT))(
    'at %s, in the middle of writes: what was answered is at origin',
    async (fault) => {
      const place = await newPlace();
      const client = new Client();
      await dieAt(place.options, fault, client);
      await expectRecovered(place, client);
    },
  );

  it.each(FIRST_FAULTS)('at %s of the first start', async (fault) => {
    const place = await newPlace();
    const client = new Client();
    await dieAt(place.options, fault, client);
    await expectRecovered(place, client);
  });

  it('at any time, again and again', async () => {
    const place = await newPlace();
    const client = new Client();
    for (let round = 0; round < 12; round++) {
      const manager = await startAfterDeath(place);
      await client.expectKept(manager, place.origin.bare);
      const timer = setTimeout(() => void manager.kill(), Math.random() * 600);
      await client.writeUntilDeath(manager, 500);
      clearTimeout(timer);
      await manager.kill();
      await expectSound(place);
    }
    await expectRecovered(place, client);
  });
});
