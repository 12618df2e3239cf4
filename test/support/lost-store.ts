import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { temporaryFolder } from './folder.ts';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';

export const RECORD = 'refs/holdfast/ids';

/** The commit that the record is; an empty text where there is none. */
export function recordTip({ repository }: TestManager): Promise<string> {
  return repository.git('for-each-ref', '--format=%(objectname)', RECORD);
}

/** Puts the ref back to a commit, or deletes it where that is an empty text. */
export async function setRecord({ repository }: TestManager, tip: string): Promise<void> {
  await repository.git('update-ref', ...(tip === '' ? ['-d', RECORD] : [RECORD, tip]));
}

/** Milliseconds in which nothing happens; in life ids rise by far less than one a second. */
const A_WHILE = 3_600_000;

/** A clock that is a while ahead of the machine's, and of every id that rose in a hurry. */
const later = (): number => Date.now() + A_WHILE;

/** Stops the manager, loses everything that it kept besides git, and starts another one. */
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

/** A copy of what the manager keeps, made while it stands still. */
export async function copyData(manager: TestManager): Promise<string> {
  const copy = join(await temporaryFolder(), 'copy');
  await cp(manager.dataFolder, copy, { recursive: true });
  return copy;
}

/** Stops the manager, puts an old copy in the place of what it kept, and starts another one. */
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
