import { classifyPath, desiredStateFolderOf } from '../../desired/file.ts';
import type { Problem } from '../../desired/problem.ts';
import type { DesiredState } from '../../desired/state.ts';
import { HoldfastError } from '../../errors.ts';
import { lastParagraph } from '../../history/message.ts';
import type { Reader } from '../../source/source.ts';
import type { StoreState } from '../../store/objects/port.ts';
import type { Memory } from './memory.ts';

/** The trailer of a commit that deletes every object on purpose. */
export const ALLOW_EMPTY = 'Allow-Empty: true';

const ALLOW_EMPTY_LINE = /^allow-empty:\s*true\s*$/i;

const NO_COMMIT = `the branch has no commits any more; nothing is deleted. Restore the branch, or switch to another one; to start over, commit with the trailer "${ALLOW_EMPTY}"`;

/**
 * Refuses a revision that would delete every object: a moved folder, a bad merge, a wrong setting and a deleted branch all
 * look like that. Rejects as `refused`, unless a commit says that it is intended.
 */
export async function refuseEmptied(
  revision: string | null,
  desired: DesiredState,
  { store, applied }: Pick<Memory, 'store' | 'applied'>,
  reader: Reader,
): Promise<void> {
  if (!desired.isEmpty) return;
  if (applied.isEmpty && !(await hadObjects(revision, store.applied, reader))) return;
  if (revision === null) throw new HoldfastError('refused', NO_COMMIT, { code: 'branch-empty' });
  if (await isIntended(revision, reader)) return;
  throw new HoldfastError(
    'refused',
    `the desired-state folder is missing or empty at this revision; nothing is deleted. Restore it, or commit with the trailer "${ALLOW_EMPTY}" to delete everything`,
    { code: 'folder-empty' },
  );
}

/**
 * Whether the first revision that a store applies had objects earlier in its history. Without its objects, a store that
 * was lost, or that has dropped them all as outdated, cannot tell that the revision deletes what devices run.
 */
async function hadObjects(
  revision: string | null,
  applied: StoreState['applied'],
  reader: Reader,
): Promise<boolean> {
  if (revision === null || applied !== null) return false;
  const paths = (await reader.touchedPaths(null, revision)) ?? [];
  return Array.from(paths).some((path) => classifyPath(path).role === 'object');
}

/**
 * Refuses a first revision that does not have the folder at all: the setting is wrong or the folder was renamed, and
 * devices would get an empty fleet. Rejects as `refused`, unless the folder was made and is not committed yet, or a commit
 * says that everything is deleted on purpose.
 */
export async function refuseMissing(
  revision: string | null,
  applied: StoreState['applied'],
  reader: Reader,
  isFolderOnDisk: () => Promise<boolean>,
): Promise<void> {
  if (revision === null || applied !== null) return;
  if ((await reader.folderTree(revision)) !== null || (await isFolderOnDisk())) return;
  if (await isIntended(revision, reader)) return;
  throw new HoldfastError(
    'refused',
    `the folder of DESIRED_STATE does not exist in commit ${revision.slice(0, 12)}; check the setting, or commit a file in the folder (a .gitkeep will do)`,
    { code: 'folder-missing' },
  );
}

/**
 * Refuses a first revision whose folder has no app and no group, but a folder inside it does: the setting names a folder
 * that is too high up. Rejects as `refused`, unless a commit says that everything is deleted on purpose.
 */
export async function refuseMisplaced(
  revision: string | null,
  applied: StoreState['applied'],
  desired: DesiredState,
  reader: Reader,
): Promise<void> {
  if (revision === null || applied !== null || !desired.isEmpty) return;
  const folder = Array.from(desired.files(), ({ path }) => desiredStateFolderOf(path)).find(
    (each) => each !== null,
  );
  if (folder === undefined || (await isIntended(revision, reader))) return;
  throw new HoldfastError(
    'refused',
    `the folder of DESIRED_STATE has no apps and no device groups, but the folder "${folder}" in it has; check the setting, or move the files. If this is intended, commit with the trailer "${ALLOW_EMPTY}"`,
    { code: 'folder-misplaced' },
  );
}

/** Whether the trailer is in the head or, since others can have followed it, in the newest commit that changed the folder. */
async function isIntended(revision: string, reader: Reader): Promise<boolean> {
  const lastChange = await reader.lastChange(revision);
  for (const id of new Set([revision, lastChange ?? revision])) {
    const lines = lastParagraph((await reader.commit(id)).message);
    if (lines.some((line) => ALLOW_EMPTY_LINE.test(line))) return true;
  }
  return false;
}

/** With STRICT: throws `refused` if there is any problem; `details.problems` names them all. */
export function refuseInvalid(problems: readonly Problem[]): void {
  const errors = problems.length;
  if (errors === 0) return;
  throw new HoldfastError(
    'refused',
    `${errors} ${errors === 1 ? 'problem' : 'problems'} at this revision, and STRICT refuses it as a whole; fix the files listed in problems`,
    { problems },
  );
}
