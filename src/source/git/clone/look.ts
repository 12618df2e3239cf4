import { lstat, readdir, readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { mapConcurrently } from '../../../async/concurrency.ts';
import { exists } from '../../../disk/exists.ts';
import { HoldfastError } from '../../../errors.ts';
import type { CommitDraft, FileEdit } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { askGit, runGit } from '../process/run.ts';
import type { ObjectReader } from '../read/objects.ts';
import { parseTreeList } from '../read/tree.ts';
import { currentBranch } from '../refs/tips.ts';
import type { Repository } from '../repository/repository.ts';
import { dirtyFiles, movedOn } from './refusals.ts';

/** A clone on this machine, and its objects. */
export interface Clone {
  repository: Repository;
  objects: ObjectReader;
}

/** What a look has found. */
export interface Look {
  isCheckedOut: boolean;
  /**
   * Looks again: rejects as before, or as `moved-on` if someone has switched to the branch or away from it since, and
   * resolves to whether someone may be about to.
   */
  mustWait(): Promise<boolean>;
}

/**
 * Looks at the work tree before a push. Rejects as `conflict` where git would overwrite work that it does not protect, or
 * where the branch must not move because another work tree uses it. `base` is the commit that the drafts are made on.
 */
export async function lookBeforePush(
  clone: Clone,
  branch: string,
  base: string | null,
  drafts: readonly CommitDraft[],
): Promise<Look> {
  const { repository } = clone;
  const isCheckedOut = (await currentBranch(repository)) === branch;
  if (isCheckedOut) await lookAtFiles(clone, base, drafts);
  else await refuseOtherHolder(repository, branch);
  let isLookRecent = true;
  const mustWait = async (): Promise<boolean> => {
    if (((await currentBranch(repository)) === branch) !== isCheckedOut) throw movedOn();
    // git holds this lock until the end of a switch.
    const isLocked = await exists(`${repository.gitFolder}/index.lock`);
    // Seconds of waiting are long enough to delete a file, or to make one that git ignores.
    if (isCheckedOut && !isLocked && !isLookRecent) await lookAtFiles(clone, base, drafts);
    isLookRecent = false;
    return isLocked;
  };
  return { isCheckedOut, mustWait };
}

/** Rejects as `moved-on` if the holder is this very work tree, which has just been switched to the branch. */
async function refuseOtherHolder(repository: Repository, branch: string): Promise<void> {
  try {
    await refuseCheckedOutElsewhere(repository, branch);
  } catch (error) {
    throw (await currentBranch(repository)) === branch ? movedOn(error) : error;
  }
}

async function lookAtFiles(clone: Clone, base: string | null, drafts: readonly CommitDraft[]): Promise<void> {
  const { repository } = clone;
  const edits = lastEdits(drafts);
  const written = await writtenFiles(clone, base, edits);
  const paths = edits.map(({ path }) => posix.join(repository.prefix, path));
  const areThere = await mapConcurrently(FILE_CONCURRENCY, paths, (path) =>
    lstat(`${repository.context.folder}/${path}`).then(
      () => true,
      () => false,
    ),
  );
  const there = new Set(paths.filter((_, index) => areThere[index]));
  await refuseDirtyFiles(repository, paths, written, (path) => there.has(path));
}

/** Returns the last edit of each file in all drafts together. */
function lastEdits(drafts: readonly CommitDraft[]): FileEdit[] {
  return [...new Map(drafts.flatMap(({ edits }) => edits).map((edit) => [edit.path, edit])).values()];
}

/** How many files are checked at the same time: thousands of calls started together delay everything else. */
const FILE_CONCURRENCY = 16;

/** The files that a write creates or changes, by path from the top of the work tree, and whether the base has each. */
type WrittenFiles = ReadonlyMap<string, boolean>;

/** Number of files in one folder from which listing the folder costs less than a request for each file. */
const LISTING_THRESHOLD = 32;

/**
 * Resolves to what `refuseDirtyFiles` needs to know about the base. For each single path, git reads its folder from the
 * beginning: for thousands of files in one folder, that took longer than everything else.
 */
async function writtenFiles(
  { repository, objects }: Clone,
  base: string | null,
  edits: readonly FileEdit[],
): Promise<WrittenFiles> {
  // git's requests are lines, so they cannot contain a path with a line break.
  const written = edits.filter(({ path, text }) => text !== null && !path.includes('\n'));
  const paths = written.map(({ path }) => posix.join(repository.prefix, path));
  if (base === null) return new Map(paths.map((path) => [path, false]));
  const counts = new Map<string, number>();
  for (const folder of paths.map(posix.dirname)) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  const listed = new Map<string, ReadonlySet<string>>();
  for (const [folder, count] of counts) {
    if (count < LISTING_THRESHOLD) continue;
    const tree = await objects.info(`${base}:${folder === '.' ? '' : folder}`);
    const isTree = tree?.type === 'tree';
    const entries = isTree ? parseTreeList(await runGit(repository.context, commands.listTop(tree.id))) : [];
    listed.set(folder, new Set(entries.map(({ path }) => path)));
  }
  const inBase = await mapConcurrently(FILE_CONCURRENCY, paths, async (path) => {
    const names = listed.get(posix.dirname(path));
    return names?.has(posix.basename(path)) ?? (await objects.info(`${base}:${path}`)) !== null;
  });
  return new Map(paths.map((path, index) => [path, inBase[index] === true]));
}

/**
 * Rejects as `conflict` where `read-tree` would destroy work: it restores a file that someone deleted as if the file had
 * never been checked out, overwrites an ignored file, also one in the place of a folder, and replaces a symbolic link by a
 * folder. `paths` are those of a write, from the top of the work tree; `isThere` tells whether a path exists now.
 */
async function refuseDirtyFiles(
  repository: Repository,
  paths: readonly string[],
  written: WrittenFiles,
  isThere: (path: string) => boolean,
): Promise<void> {
  await refuseReplacedFolders(repository, paths);
  const files = [...written.keys()];
  const added = files.filter((path) => written.get(path) === false);
  await refuseTwins(repository, added);
  const inTheWay = added.filter(isThere);
  const absent = files.filter((path) => !isThere(path) && written.get(path) === true);
  const dirty = [...inTheWay, ...(await deletedOf(repository, absent))];
  if (dirty.length > 0) throw dirtyFiles(dirty);
}

/** Refuses new files whose names differ only by case, if the disk ignores case: they would be one file. */
async function refuseTwins({ context }: Repository, added: readonly string[]): Promise<void> {
  const last = new Map(added.map((path) => [path.toLowerCase(), path]));
  const twins = added.filter((path) => last.get(path.toLowerCase()) !== path);
  // `git init` makes this setting on such a disk.
  if (twins.length === 0 || (await askGit(context, commands.ignoresCase()))?.trim() !== 'true') return;
  const message = `${twins.join(', ')}: the name of another new file differs only by case, and the checkout's disk ignores case; choose another name`;
  throw new HoldfastError('conflict', message, { paths: twins });
}

async function refuseReplacedFolders({ context }: Repository, paths: readonly string[]): Promise<void> {
  // Files of one write share folders, and these share parents: each is checked once.
  const checks = new Map<string, Promise<boolean>>();
  const isReplacedCached = (folder: string): Promise<boolean> => {
    const check = checks.get(folder) ?? isReplaced(folder);
    checks.set(folder, check);
    return check;
  };
  const folders = [...new Set(paths.map(posix.dirname))];
  const areBlocked = await mapConcurrently(FILE_CONCURRENCY, folders, (folder) =>
    anyParent(context.folder, `${folder}/file`, isReplacedCached),
  );
  const blocked = new Set(folders.filter((_, index) => areBlocked[index]));
  const path = paths.find((each) => blocked.has(posix.dirname(each)));
  if (path === undefined) return;
  const message = `${path}: a folder in its path is a symbolic link or a file in the checkout; restore the folder, or commit the change`;
  throw new HoldfastError('conflict', message, { paths: [path] });
}

/** Returns which of these absent files someone deleted; in a sparse checkout, files are absent on purpose. */
async function deletedOf({ context }: Repository, absent: readonly string[]): Promise<string[]> {
  if (absent.length === 0) return [];
  const deleted = new Set((await runGit(context, commands.deletedFiles())).split('\0'));
  return absent.filter((path) => deleted.has(path));
}

/** Whether a check holds for any folder between `top` and `path`. */
async function anyParent(
  top: string,
  path: string,
  check: (folder: string) => Promise<boolean>,
): Promise<boolean> {
  const folders: string[] = [];
  for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.push(folder);
  return (await Promise.all(folders.map((folder) => check(`${top}/${folder}`)))).includes(true);
}

/** Whether something other than a folder is at a path; a missing folder can be made. */
async function isReplaced(path: string): Promise<boolean> {
  const found = await lstat(path).catch(() => null);
  return found !== null && !found.isDirectory();
}

/** Rejects as `conflict` if another work tree has the branch checked out, or a rebase will move it. */
async function refuseCheckedOutElsewhere(repository: Repository, branch: string): Promise<void> {
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

/** Whether a rebase in any work tree will move the branch at its end; until then, the branch is checked out nowhere. */
async function isRebased({ commonFolder }: Repository, branch: string): Promise<boolean> {
  const linked = await readdir(`${commonFolder}/worktrees`).catch((): string[] => []);
  const folders = [commonFolder, ...linked.map((name) => `${commonFolder}/worktrees/${name}`)];
  const states = folders.flatMap((folder) => [`${folder}/rebase-merge`, `${folder}/rebase-apply`]);
  const names = await Promise.all(
    states.map((state) => readFile(`${state}/head-name`, 'utf8').catch(() => '')),
  );
  return names.some((text) => text.replace(/\n$/, '') === branch);
}
