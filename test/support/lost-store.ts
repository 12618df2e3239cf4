import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';
import { RECORD } from './record-files.ts';

/** The commit of the record of ids; an empty text if there is no record. */
export function recordTip({ repository }: TestManager): Promise<string> {
  return repository.git('for-each-ref', '--format=%(objectname)', RECORD);
}

/** Sets the record to a commit that {@link recordTip} returned; an empty text deletes it. */
export async function setRecord({ repository }: TestManager, tip: string): Promise<void> {
  await repository.git('update-ref', ...(tip === '' ? ['-d', RECORD] : [RECORD, tip]));
}

/**
 * A clock that is an hour ahead. The floor is the time in seconds and must be above all ids that were served; tests
 * raise ids by more than one a second, which real fleets do not.
 */
const later = (): number => Date.now() + 3_600_000;

/** Stops the manager, deletes its data folder, runs `between`, and starts a manager an hour later on the repository. */
export async function loseStore(
  manager: TestManager,
  between: () => Promise<unknown> = async () => undefined,
  options: Pick<ManagerOptions, 'now' | 'settings'> = {},
): Promise<TestManager> {
  await manager.stop();
  await rm(manager.dataFolder, { recursive: true });
  await between();
  return startManager({
    repository: manager.repository,
    dataFolder: manager.dataFolder,
    now: later,
    ...options,
  });
}

/** Copies the data folder of a stopped manager; resolves to the path of the copy. */
export async function copyData(manager: TestManager): Promise<string> {
  const copy = join(await temporaryFolder(), 'copy');
  await cp(manager.dataFolder, copy, { recursive: true });
  return copy;
}

/**
 * Stops the manager, replaces its data folder by a copy of {@link copyData}, runs `between`, and starts a manager on
 * it.
 */
export async function restoreCopy(
  manager: TestManager,
  copy: string,
  between: () => Promise<unknown> = async () => undefined,
): Promise<TestManager> {
  await manager.stop();
  await rm(manager.dataFolder, { recursive: true });
  await cp(copy, manager.dataFolder, { recursive: true });
  await between();
  return startManager({ repository: manager.repository, dataFolder: manager.dataFolder });
}
