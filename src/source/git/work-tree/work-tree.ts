import { lstat, readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { mapInLanes } from '../../../async/lanes.ts';
import { HoldfastError } from '../../../errors.ts';
import type { FileEdit } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { askGit, GitFailure, runGit, saidNo } from '../process/run.ts';
import { parseTreeList } from '../read/tree.ts';
import type { Repository } from '../repository/repository.ts';
import { type Checkout, changeIndex, type HeldCheckout } from './held-index.ts';
import { isLocked } from './locks.ts';
import { judgeRefusal, UnreadableFile, unreadable } from './unreadable.ts';

/** The refusal of a write on whose files a person has work that is not committed, or that cannot be read. */
export function dirtyFiles(paths: readonly string[], cause?: unknown): HoldfastError {
  if (cause instanceof UnreadableFile) return unreadable(paths, cause);
  const message = `${paths.join(', ')}: the checkout has uncommitted work on this file; commit or undo it first`;
  return new HoldfastError('conflict', message, { paths }, cause);
}

/**
 * Takes index and work tree from one tree to another; files that are the same in both are not looked at. git
 * refuses where a file that differs has uncommitted work, or cannot be read (an UnreadableFile).
 */
export async function switchTree(checkout: HeldCheckout, from: string, to: string): Promise<void> {
  const run = () => changeIndex(checkout, commands.switchTree(from, to));
  try {
    await run();
  } catch (error) {
    if (!isOutdated(error)) throw error;
    await refreshIndex(checkout);
    await run().catch(async (again: unknown) => {
      throw isOutdated(again) ? await judgeRefusal(again, checkout.repository.context.folder) : again;
    });
  }
}

function isOutdated(error: unknown): error is GitFailure {
  return error instanceof GitFailure && /not uptodate/.test(error.stderr);
}

/** Refreshes the index: until then, a file that was only touched looks changed. */
export async function refreshIndex(checkout: HeldCheckout): Promise<void> {
  await changeIndex(checkout, commands.refreshIndex()).catch(ignoreDirty);
}

/** Refreshing ends with 1 when some file is really changed; which one matters is told by what comes after. */
function ignoreDirty(error: unknown): string {
  if (saidNo(error) && !isLocked(error)) return '';
  throw error;
}

/** How many files are looked at at once: thousands of calls that begin together hold everything else up. */
export const LOOKS = 16;

/** The files that a write leaves behind, by their paths from the top of the work tree, and whether the base has each. */
export type WrittenFiles = ReadonlyMap<string, boolean>;

/** With so many files in one folder, listing it costs less than asking for each. */
const MANY = 32;

/**
 * What `refuseDirtyFiles` needs to know of the base. For each path that git is asked for, it goes through the folder
 * from its beginning: with thousands of files of one folder that took longer than all else.
 */
export async function writtenFiles(
  { repository, objects }: Pick<Checkout, 'repository' | 'objects'>,
  base: string | null,
  edits: readonly FileEdit[],
): Promise<WrittenFiles> {
  // Of a name with a line break git cannot be asked.
  const written = edits.filter(({ path, text }) => text !== null && !path.includes('\n'));
  const paths = written.map(({ path }) => posix.join(repository.prefix, path));
  if (base === null) return new Map(paths.map((path) => [path, false]));
  const counts = new Map<string, number>();
  for (const folder of paths.map(posix.dirname)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const listed = new Map<string, ReadonlySet<string>>();
  for (const [folder, count] of counts) {
    if (count < MANY) continue;
    const tree = await objects.info(`${base}:${folder === '.' ? '' : folder}`);
    const isTree = tree?.type === 'tree';
    const entries = isTree ? parseTreeList(await runGit(repository.context, commands.listTop(tree.id))) : [];
    listed.set(folder, new Set(entries.map(({ path }) => path)));
  }
  const inBase = await mapInLanes(LOOKS, paths, async (path) => {
    const names = listed.get(posix.dirname(path));
    return names?.has(posix.basename(path)) ?? (await objects.info(`${base}:${path}`)) !== null;
  });
  return new Map(paths.map((path, index) => [path, inBase[index] === true]));
}

/**
 * Refuses what `read-tree` would not: it takes a file that a person deleted for one that was never written out, a file
 * that is ignored for one of no worth, also where it has to make a folder, and a link for a folder that it may make
 * anew. `paths` are those of a write from the top of the work tree; `isThere` tells what is there now. Rejects as
 * `conflict`.
 */
export async function refuseDirtyFiles(
  repository: Repository,
  paths: readonly string[],
  written: WrittenFiles,
  isThere: (path: string) => boolean,
): Promise<void> {
  await refuseReplacedFolders(repository, paths);
  const files = [...written.keys()];
  const added = files.filter((path) => written.get(path) === false);
  await refuseTwins(repository, added);
  const made = added.filter(isThere);
  const gone = files.filter((path) => !isThere(path) && written.get(path) === true);
  const dirty = [...made, ...(await deletedOf(repository, gone))];
  if (dirty.length > 0) throw dirtyFiles(dirty.map((path) => posix.relative(repository.prefix, path)));
}

/** On a disk that ignores case, new files whose names differ by nothing else would be one. */
async function refuseTwins({ context, prefix }: Repository, added: readonly string[]): Promise<void> {
  const last = new Map(added.map((path) => [path.toLowerCase(), path]));
  const twins = added.filter((path) => last.get(path.toLowerCase()) !== path);
  // `git init` sets this where it finds such a disk.
  if (twins.length === 0 || (await askGit(context, commands.ignoresCase()))?.trim() !== 'true') return;
  const paths = twins.map((path) => posix.relative(prefix, path));
  const message = `${paths.join(', ')}: the name of another new file differs only by case, and the checkout's disk ignores case; choose another name`;
  throw new HoldfastError('conflict', message, { paths });
}

async function refuseReplacedFolders(
  { context, prefix }: Repository,
  paths: readonly string[],
): Promise<void> {
  // Files of one write share folders, and these the folders above them: each is looked at once.
  const known = new Map<string, Promise<boolean>>();
  const isNoFolderOnce = (folder: string): Promise<boolean> => {
    const look = known.get(folder) ?? isNoFolder(folder);
    known.set(folder, look);
    return look;
  };
  const folders = [...new Set(paths.map(posix.dirname))];
  const areBlocked = await mapInLanes(LOOKS, folders, (folder) =>
    isBehindLink(context.folder, `${folder}/file`, isNoFolderOnce),
  );
  const blocked = new Set(folders.filter((_, index) => areBlocked[index]));
  const found = paths.find((path) => blocked.has(posix.dirname(path)));
  if (found === undefined) return;
  const path = posix.relative(prefix, found);
  const message = `${path}: a folder in its path is a symbolic link or a file in the checkout; restore the folder, or commit the change`;
  throw new HoldfastError('conflict', message, { paths: [path] });
}

/** Those of these files that a person deleted; in a sparse checkout they are absent on purpose. */
async function deletedOf({ context }: Repository, absent: readonly string[]): Promise<string[]> {
  if (absent.length === 0) return [];
  const deleted = new Set((await runGit(context, commands.deletedFiles())).split('\0'));
  return absent.filter((path) => deleted.has(path));
}

/** Whether a folder above `path` is a link, so that the path is not in the work tree at `top`; or is what `look` finds. */
export async function isBehindLink(top: string, path: string, look = isLink): Promise<boolean> {
  const folders: string[] = [];
  for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.push(folder);
  return (await Promise.all(folders.map((folder) => look(`${top}/${folder}`)))).includes(true);
}

/** Whether something else lies where a folder should be; what is not there can be made. */
async function isNoFolder(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found !== null && !found.isDirectory();
}

async function isLink(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found?.isSymbolicLink() === true;
}

/** Refuses to move a branch under the feet of another work tree, or of a rebase. Rejects as `conflict`. */
export async function refuseCheckedOutElsewhere(repository: Repository, branch: string): Promise<void> {
  const name = branch.replace('refs/heads/', '');
  const blocks = (await runGit(repository.context, commands.listWorkTrees())).split('\0\0');
  const holder = blocks
    .map((block) => block.split('\0'))
    .find((lines) => lines.includes(`branch ${branch}`) && !lines.some((line) => /^prunable/.test(line)));
  if (holder !== undefined) {
    const message = `${name} is checked out in another work tree; run the manager on that one, or switch it to another branch`;
    throw new HoldfastError('conflict', message);
  }
  if (!(await isRebased(repository, branch))) return;
  throw new HoldfastError('conflict', `${name} is being rebased; finish the rebase, or abort it`);
}

/** Whether a rebase in any work tree of the repository will move the branch, which nothing has checked out until then. */
async function isRebased({ commonFolder }: Repository, branch: string): Promise<boolean> {
  const linked = await readdir(`${commonFolder}/worktrees`).catch((): string[] => []);
  const folders = [commonFolder, ...linked.map((name) => `${commonFolder}/worktrees/${name}`)];
  const states = folders.flatMap((folder) => [`${folder}/rebase-merge`, `${folder}/rebase-apply`]);
  const names = await Promise.all(
    states.map((state) => readFile(`${state}/head-name`, 'utf8').catch(() => '')),
  );
  return names.some((text) => text.replace(/\n$/, '') === branch);
}
