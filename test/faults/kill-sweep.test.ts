import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../src/faults.ts';
import { inDesiredState, temporaryFolder, writeFiles } from '../support/folder.ts';
import { repositoryAt, type TestRepository, testRepository } from '../support/git.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startProcessManager, tryStart } from '../support/process-manager.ts';
import {
  beginWork,
  Client,
  dieAt,
  expectSoundRepository,
  FIRST_FAULTS,
  faultsInWrites,
} from './fleet-model.ts';

interface Place {
  repository: TestRepository;
  dataFolder: string;
}

async function newPlace(): Promise<Place> {
  const repository = await testRepository();
  await repository.commit({ ...inDesiredState(SMALL_FLEET), 'else.txt': 'committed\n' }, 'the first fleet');
  await beginWork(repository);
  return { repository, dataFolder: join(await temporaryFolder(), 'data') };
}

/** The next start finds everything as it was answered, and works. */
async function expectRecovered(place: Place, client: Client): Promise<void> {
  const manager = await startProcessManager(place);
  await manager.request('POST', '/api/v2/reconcile');
  await client.expectKept(manager, place.repository);
  await expectSoundRepository(place.repository);
  expect(await client.writeUntilDeath(manager, 3)).toBe(3);
  await client.expectKept(manager, place.repository);
  expect(await manager.stop()).toBe(0);
  await expectSoundRepository(place.repository);
}

/** Points that only a start after a death comes by, or that a start in a folder without git does. */
const ELSEWHERE: readonly FaultPoint[] = ['repository-begun', 'undo-begins', 'undo-done'];

describe('the process is killed', () => {
  it.each(faultsInWrites(ELSEWHERE))(
    'at %s, in the middle of writes: what was answered is there',
    async (fault) => {
      const place = await newPlace();
      const client = new Client();
      await dieAt(place, fault, client);
      await expectRecovered(place, client);
    },
  );

  it.each(FIRST_FAULTS)('at %s of the first start', async (fault) => {
    const place = await newPlace();
    const client = new Client();
    await dieAt(place, fault, client);
    await expectRecovered(place, client);
  });

  it.each(['undo-begins', 'undo-done'] as const)(
    'at %s, while it recovers from the death before',
    async (fault) => {
      const place = await newPlace();
      const client = new Client();
      await dieAt(place, 'tree-switched:2', client);
      expect(await tryStart({ ...place, env: { HOLDFAST_FAULT: fault } })).toBeNull();
      await expectRecovered(place, client);
    },
  );

  it('at repository-begun, in a folder that is in no repository: the next start begins anew', async () => {
    const folder = await temporaryFolder();
    const repository = repositoryAt(join(folder, 'desired-state'));
    await mkdir(repository.folder);
    await writeFiles(repository.folder, { 'apps/web.yaml': SMALL_FLEET['apps/web.yaml'] });
    const place = { repository: { folder }, dataFolder: join(folder, 'data') };
    expect(await tryStart({ ...place, env: { HOLDFAST_FAULT: 'repository-begun' } })).toBeNull();
    const manager = await startProcessManager(place);
    expect((await manager.request('GET', '/api/v2/apps')).body).toEqual({ apps: ['web'] });
    expect(await repository.git('ls-tree', '-r', '--name-only', 'HEAD')).toBe('apps/web.yaml');
    await manager.stop();
  });

  it('at any time, with every git that it started, again and again', async () => {
    const place = await newPlace();
    const client = new Client();
    for (let round = 0; round < 12; round++) {
      const manager = await startProcessManager(place);
      await manager.request('POST', '/api/v2/reconcile');
      await client.expectKept(manager, place.repository);
      await expectSoundRepository(place.repository);
      const delay = Math.random() * 600;
      const timer = setTimeout(() => void manager.kill(), delay);
      await client.writeUntilDeath(manager, 500);
      clearTimeout(timer);
      await manager.kill();
    }
    await expectRecovered(place, client);
  });
});
