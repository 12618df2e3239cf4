import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../src/faults.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startProcessManager, tryStart } from '../support/process-manager.ts';
import { randomNumbers } from '../support/random.ts';
import {
  Client,
  dieAt,
  expectSoundRepository,
  FIRST_FAULTS,
  faultsInWrites,
  leaveUncommittedWork,
} from './fleet-model.ts';

/** What `startProcessManager` needs. */
interface Fleet {
  repository: TestRepository;
  dataFolder: string;
}

/** A repository with a small fleet and uncommitted work in it, and a path for a data folder. */
async function newFleet(): Promise<Fleet> {
  const repository = await testRepository();
  await repository.commit({ ...inDesiredState(SMALL_FLEET), 'else.txt': 'committed\n' }, 'the first fleet');
  await leaveUncommittedWork(repository);
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

/** Starts the manager again, and checks that it has every acknowledged write, that it accepts writes, and that the work is untouched. */
async function expectRecovered(fleet: Fleet, client: Client): Promise<void> {
  const manager = await startProcessManager(fleet);
  await manager.request('POST', '/api/v2/reconcile');
  await client.expectKept(manager, fleet.repository);
  await expectSoundRepository(fleet.repository);
  expect(await client.writeUntilDeath(manager, 3)).toBe(3);
  await client.expectKept(manager, fleet.repository);
  expect(await manager.stop()).toBe(0);
  await expectSoundRepository(fleet.repository);
}

/** Points that only a start reaches: after a kill, or in a folder that is in no repository. */
const OF_STARTS: readonly FaultPoint[] = ['repository-begun'];

describe('a manager of a clone that is killed', () => {
  it.each(faultsInWrites(OF_STARTS))(
    'at %s during writes has every acknowledged write at its next start',
    async (fault) => {
      const fleet = await newFleet();
      const client = new Client();
      await dieAt(fleet, fault, client);
      await expectRecovered(fleet, client);
    },
  );

  it.each(FIRST_FAULTS)(
    'at %s of its first start serves and writes the fleet at its next start',
    async (fault) => {
      const fleet = await newFleet();
      const client = new Client();
      await dieAt(fleet, fault, client);
      await expectRecovered(fleet, client);
    },
  );

  it('at repository-begun, in a folder that is in no repository, makes the repository at its next start', async () => {
    const folder = await temporaryFolder();
    const repository = repositoryAt(join(folder, 'desired-state'));
    await mkdir(repository.folder);
    await writeFiles(repository.folder, { 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    const fleet = { repository: { folder }, dataFolder: join(folder, 'data') };
    expect(await tryStart({ ...fleet, env: { HOLDFAST_FAULT: 'repository-begun' } })).toBeNull();
    const manager = await startProcessManager(fleet);
    expect((await manager.request('GET', '/api/v2/apps')).body).toEqual({ apps: ['web'] });
    expect(await repository.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('apps/web.yaml');
    await manager.stop();
  });

  it('at random times, again and again, together with its git processes, keeps every acknowledged write', async () => {
    const fleet = await newFleet();
    const client = new Client();
    const random = randomNumbers();
    for (let round = 0; round < 12; round++) {
      const manager = await startProcessManager(fleet);
      await manager.request('POST', '/api/v2/reconcile');
      await client.expectKept(manager, fleet.repository);
      await expectSoundRepository(fleet.repository);
      const delay = random() * 600;
      const timer = setTimeout(() => void manager.kill(), delay);
      await client.writeUntilDeath(manager, 500);
      clearTimeout(timer);
      await manager.kill();
    }
    await expectRecovered(fleet, client);
  });
});
