import { readdir, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { AppDefaults } from '../desired/app.ts';
import type { TreeEntry } from '../desired/entry.ts';
import { classifyPath } from '../desired/file.ts';
import { fileProblem } from '../desired/problem.ts';
import { DesiredState, type StateFile } from '../desired/state.ts';
import { HoldfastError, messageOf } from '../errors.ts';
import { createFolderReader, type FileSystem } from '../source/folder.ts';
import { openRevisions, type RevisionReader } from '../source/git/read/revisions.ts';
import { loadEntries } from './fleet.ts';
import { type CommandIo, UsageError } from './io.ts';

const FILES: FileSystem = { readdir, stat, readFile };

/** Milliseconds that one git call may take. */
const GIT_TIME_LIMIT = 60_000;

/** The repository that a folder lies in; null where it lies in none. To be closed. */
export async function openRepository(folder: string, { env }: CommandIo): Promise<RevisionReader | null> {
  try {
    return await openRevisions(resolve(folder), { env, timeLimit: GIT_TIME_LIMIT });
  } catch (error) {
    // To a manager such a repository is a wrong setting; here the folder alone is asked for, and git is what failed.
    throw new HoldfastError('unavailable', messageOf(error), {}, error);
  }
}

/** `openRepository` for what can do without: warns where git does not work, and takes the folder for one in no repository. */
export async function tryRepository(folder: string, io: CommandIo): Promise<RevisionReader | null> {
  try {
    return await openRepository(folder, io);
  } catch (error) {
    io.complain(`holdfast: warning: files that git ignores are checked, too: ${messageOf(error)}\n`);
    return null;
  }
}

/** The entries of a folder as it lies on the disk. Throws a UsageError where there is none. */
export async function listFolder(folder: string): Promise<TreeEntry[]> {
  return createFolderReader(FILES, folder)
    .list()
    .catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
      throw new UsageError(
        `${folder === '' ? '""' : folder} is not a folder; name the one that contains apps/ and device-groups/`,
      );
    });
}

/**
 * Reads a folder as a commit of all that lies in it would be read: without files that git ignores, and with what a sparse
 * checkout leaves out. In no repository, everything counts.
 */
export async function loadWorkTree(
  folder: string,
  entries: readonly TreeEntry[],
  defaults: AppDefaults,
  revisions: RevisionReader | null,
): Promise<DesiredState> {
  const { blob } = createFolderReader(FILES, folder);
  const state = new DesiredState();
  if (revisions === null) return loadEntries(state, entries, blob, defaults);
  const { isIgnored, kept } = await revisions.unlikeDisk();
  const there = new Set(entries.map(({ path }) => path));
  await loadEntries(
    state,
    entries.filter(({ path }) => !isIgnored(path)),
    blob,
    defaults,
  );
  await loadEntries(
    state,
    kept.filter(({ path }) => !there.has(path)),
    revisions.blob,
    defaults,
  );
  state.apply(entries.flatMap((entry) => (isIgnored(entry.path) ? ignoredFile(entry) : [])));
  return state;
}

/** Says of what would be an object that it is none: whoever made the file may not know of the rule. */
function ignoredFile({ path, blob }: TreeEntry): { path: string; file: StateFile }[] {
  if (classifyPath(path).role !== 'object') return [];
  const message =
    'is left out, since git ignores it and no commit would contain it; see git check-ignore -v, or add it with git add --force';
  return [
    {
      path,
      file: { path, blob, kind: null, problem: fileProblem('file-ignored', message), severity: 'warning' },
    },
  ];
}
