import { readdir, readFile, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { TreeEntry } from '../../desired/entry.ts';
import { classifyPath } from '../../desired/file.ts';
import { loadEntries, type ReadBlob } from '../../desired/load.ts';
import { fileProblem, type Problem, type TextProblem, withFile } from '../../desired/problem.ts';
import { DesiredState, type StateFile } from '../../desired/state.ts';
import { variableWarnings } from '../../desired/variables.ts';
import { decodeText, MAX_FILE_BYTES, MAX_PROBLEMS, readYaml } from '../../desired/yaml/document.ts';
import { HoldfastError, messageOf } from '../../errors.ts';
import { type OwnConflict, ownConflicts } from '../../plan/own-conflicts.ts';
import { portConflicts } from '../../plan/port-conflicts.ts';
import type { App, AppDefaults } from '../../protocol/app.ts';
import { createFolderReader, type FileSystem } from '../../source/folder.ts';
import { openRevisions, type RevisionReader } from '../../source/git/read/revisions.ts';
import { type CommandIo, UsageError } from '../shell/io.ts';

const DISK: FileSystem = { readdir, stat, readFile };

/** Time limit of a git command, in milliseconds. */
const GIT_TIME_LIMIT = 60_000;

/** Opens the repository that contains a folder; resolves to null if there is none. The caller must close it. */
export async function openRepository(folder: string, { env }: CommandIo): Promise<RevisionReader | null> {
  try {
    return await openRevisions(resolve(folder), { env, timeLimit: GIT_TIME_LIMIT });
  } catch (error) {
    // For a manager, such a repository is a wrong setting. Here the user named a folder, and it is git that failed.
    throw new HoldfastError('unavailable', messageOf(error), {}, error);
  }
}

/** Does what `openRepository` does, but if git fails, it warns and resolves to null, as if there were no repository. */
export async function tryRepository(folder: string, io: CommandIo): Promise<RevisionReader | null> {
  try {
    return await openRepository(folder, io);
  } catch (error) {
    io.writeError(`holdfast: warning: files that git ignores are checked as well: ${messageOf(error)}\n`);
    return null;
  }
}

/** What an error of the file system means, and what to do about it. */
const REASONS: Readonly<Record<string, string>> = {
  EACCES: 'may not be read by this user; change its permissions, or run this as another user',
  EPERM: 'may not be read by this user; change its permissions, or run this as another user',
  ELOOP: 'is a symbolic link that leads to itself',
};

/** Lists the files of a folder on the disk. Rejects with a UsageError if there is no such folder. */
export async function listFolder(folder: string): Promise<TreeEntry[]> {
  return createFolderReader(DISK, folder)
    .list()
    .catch((error: NodeJS.ErrnoException) => {
      const reason = REASONS[error.code ?? ''];
      if (reason !== undefined)
        throw new HoldfastError('unavailable', `${error.path ?? folder} ${reason}`, {}, error);
      if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
      throw new UsageError(
        `${folder === '' ? '""' : folder} is not a folder; name the one that contains apps/ and device-groups/`,
      );
    });
}

/** A folder, and the warnings that only the command line shows. */
export interface WorkTree {
  state: DesiredState;
  /** Variables that nothing replaces, and ports that several apps of a group take. */
  warnings: readonly Problem[];
}

/**
 * Loads a folder as if all its files were committed: without files that git ignores, and with files that a sparse
 * checkout leaves out. Without a repository, it loads every file.
 */
export async function loadWorkTree(
  folder: string,
  entries: readonly TreeEntry[],
  defaults: AppDefaults,
  revisions: RevisionReader | null,
): Promise<WorkTree> {
  const { blob } = createFolderReader(DISK, folder);
  const state = new DesiredState();
  if (revisions === null) {
    await loadEntries(state, entries, blob, defaults);
    return { state, warnings: await warningsOf(state, () => blob) };
  }
  const { isIgnored, kept: notCheckedOut } = await revisions.diskDifferences();
  const present = new Set(entries.map(({ path }) => path));
  await loadEntries(
    state,
    entries.filter(({ path }) => !isIgnored(path)),
    blob,
    defaults,
  );
  await loadEntries(
    state,
    notCheckedOut.filter(({ path }) => !present.has(path)),
    revisions.blob,
    defaults,
  );
  state.apply(entries.flatMap((entry) => (isIgnored(entry.path) ? ignoredFile(entry) : [])));
  const readerOf = (path: string): ReadBlob => (present.has(path) ? blob : revisions.blob);
  return { state, warnings: await warningsOf(state, readerOf) };
}

async function warningsOf(state: DesiredState, readerOf: (path: string) => ReadBlob): Promise<Problem[]> {
  const warnings = portConflicts(state);
  for (const { path, blob, ...file } of state.files()) {
    if (file.kind !== 'app' || !file.parsed.ok) continue;
    const { content } = file.parsed;
    const conflicts = ownConflicts(content as App);
    if (conflicts.length === 0 && !JSON.stringify(content).includes('${')) continue;
    const found = await readerOf(path)(blob, MAX_FILE_BYTES);
    if (!('bytes' in found)) continue;
    const own = [...placed(conflicts, found.bytes), ...variableWarnings(found.bytes)];
    warnings.push(...own.map((warning) => withFile(path, warning, 'warning')));
  }
  return warnings;
}

/** Returns the conflicts of a file that can be read, each at its place. */
function placed(conflicts: readonly OwnConflict[], bytes: Uint8Array): TextProblem[] {
  const text = decodeText(bytes);
  const document = text.ok ? readYaml(text.value) : text;
  if (!document.ok) return [];
  return conflicts
    .slice(0, MAX_PROBLEMS)
    .map(({ path, code, message }) => ({ ...document.value.positionOf(path), code, message }));
}

/**
 * Returns the change that adds a warning for an ignored file that would define an object, since its author may not know
 * that it is ignored.
 */
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
