import { lstat, readFile, rm, rmdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { exists } from '../../../disk/exists.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { emptyTreeIdLike, nullIdLike } from '../process/object-ids.ts';
import { askGit, runGit } from '../process/run.ts';
import { parseLines } from '../read/tree.ts';
import { branchTip, currentBranch, unreadableCommit } from '../repository/refs.ts';
import { type Checkout, changeIndex, type HeldCheckout } from '../work-tree/held-index.ts';
import { isBehindLink, refreshIndex, switchTree } from '../work-tree/work-tree.ts';
import { fileMark, isFromEarlierBoot, type SwitchNote } from './switch-note.ts';

/** What a tree or the index has at a path, as `<mode> <id>`; undefined for nothing. */
type Entry = string | undefined;
type Entries = ReadonlyMap<string, string>;

/** A path of the switch, with what the two trees and the index have there. */
interface SwitchedPath {
  path: string;
  /** In the commit whose switch is undone. */
  inCommit: Entry;
  /** In the commit of HEAD, which index and work tree return to. */
  inHead: Entry;
  inIndex: Entry;
}

/**
 * Moves index and work tree from a commit that was never published back to HEAD. Leaves alone what a user did in the
 * meantime: files that were changed after the switch, files that were not switched, and paths that were staged anew.
 * Resolves to false if the commit was published after all. Undoing a switch twice does no harm.
 *
 * git replaces the index as a whole and after all files, so the index shows whether the switch was completed. If it was, a
 * file is ours if it is as in the commit. If not, a file is ours if it has changed since the note, and is missing or holds
 * the beginning of the commit's content. After a loss of power, the index can be switched without the files; then both
 * kinds of files are ours.
 */
export async function undoSwitch(checkout: HeldCheckout, note: SwitchNote): Promise<boolean> {
  const { objects, locks } = checkout;
  // A git can outlive the manager that started it. It must end before index and branch are read.
  await locks.waitForOrphans();
  const tip = (await headOf(checkout)) ?? emptyTreeIdLike(note.to);
  if ((await objects.info(`${note.to}^{commit}`)) === null) {
    await refuseUndecided(checkout, note, tip);
    return false;
  }
  if (await isPublished(checkout, note.to, tip)) return false;
  const paths = await switchedPaths(checkout, note, tip);
  const staged = paths.filter(({ inIndex, inCommit }) => inIndex === inCommit);
  const isIndexSwitched = staged.length > 0;
  const mayBePartial = !isIndexSwitched || (await isFromEarlierBoot(note));
  const ours = await findOurFiles(checkout, note, paths, { isIndexSwitched, mayBePartial });
  const isUntouched = staged.length === paths.length && paths.every(({ path }) => ours.has(path));
  if (isUntouched && !mayBePartial) {
    // Nobody has changed anything. git's own way back also respects what a sparse checkout leaves out.
    await switchTree(checkout, note.to, tip);
    return true;
  }
  await resetIndex(checkout, note.to, staged);
  await restoreFiles(
    checkout,
    paths.filter(
      ({ path, inIndex, inCommit, inHead }) => ours.has(path) && (inIndex === inCommit || inIndex === inHead),
    ),
  );
  return true;
}

/** Resolves to the commit that HEAD is at; null on a branch without a commit. */
async function headOf({ repository, objects }: Checkout): Promise<string | null> {
  const branch = await currentBranch(repository);
  const at = branch === null ? 'HEAD' : await branchTip(repository, branch);
  if (at === null) return null;
  const commit = await objects.info(`${at}^{commit}`);
  if (commit === null) throw unreadableCommit(branch);
  return commit.id;
}

async function isPublished({ repository }: Checkout, commit: string, tip: string): Promise<boolean> {
  if (tip === commit) return true;
  if (tip === emptyTreeIdLike(commit)) return false;
  return (await askGit(repository.context, commands.isAncestor(commit, tip))) !== null;
}

/**
 * Handles a note whose commit no longer exists, because someone removed the ref that protected it: what the commit
 * contained is unknown. Rejects as `conflict` if a path of the switch is neither as in HEAD nor the file from before the
 * switch.
 */
async function refuseUndecided(checkout: HeldCheckout, { files }: SwitchNote, tip: string): Promise<void> {
  const { context, gitFolder } = checkout.repository;
  await refreshIndex(checkout);
  const [head, index] = await Promise.all([treeEntries(checkout, tip), indexEntries(checkout)]);
  const changed = (await runGit(context, commands.changedFiles())).split('\0');
  const undecided: string[] = [];
  for (const [path, markBefore] of Object.entries(files)) {
    const isAsIndexed = index.has(path)
      ? !changed.includes(path)
      : !(await exists(`${context.folder}/${path}`));
    const isNotOurs = isAsIndexed || (await fileMark(`${context.folder}/${path}`)) === markBefore;
    if (index.get(path) !== head.get(path) || !isNotOurs) undecided.push(path);
  }
  if (undecided.length === 0) return;
  const message = `${undecided.join(', ')}: possibly left by an interrupted write, whose commit is gone; restore or commit it, or remove ${gitFolder}/holdfast-switch`;
  throw new HoldfastError('conflict', message);
}

/** Resolves to the paths of the switch that differ between the commit and HEAD. */
async function switchedPaths(checkout: Checkout, note: SwitchNote, tip: string): Promise<SwitchedPath[]> {
  const [commit, head, index] = await Promise.all([
    treeEntries(checkout, note.to),
    treeEntries(checkout, tip),
    indexEntries(checkout),
  ]);
  return Object.keys(note.files)
    .map((path) => ({
      path,
      inCommit: commit.get(path),
      inHead: head.get(path),
      inIndex: index.get(path),
    }))
    .filter(({ inCommit, inHead }) => inCommit !== inHead);
}

async function treeEntries({ repository: { context } }: Checkout, tree: string): Promise<Entries> {
  const listed = await runGit(context, commands.listTree(tree));
  return new Map(parseLines(listed, ([mode, , id], path) => [path, `${mode} ${id}`]));
}

/** A path in conflict has several entries, of which the last one counts: none of them is ours. */
async function indexEntries({ repository: { context } }: Checkout): Promise<Entries> {
  const listed = await runGit(context, commands.listIndex());
  return new Map(parseLines(listed, ([mode, id], path) => [path, `${mode} ${id}`]));
}

/** Resolves to the paths whose files the switch has written or removed, and that nobody has changed since. */
async function findOurFiles(
  checkout: HeldCheckout,
  note: SwitchNote,
  paths: readonly SwitchedPath[],
  { isIndexSwitched, mayBePartial }: { isIndexSwitched: boolean; mayBePartial: boolean },
): Promise<Set<string>> {
  const { context } = checkout.repository;
  if (isIndexSwitched) await refreshIndex(checkout);
  const changed = isIndexSwitched ? (await runGit(context, commands.changedFiles())).split('\0') : [];
  const ours = new Set<string>();
  for (const switched of paths) {
    const { path, inCommit } = switched;
    if (await isBehindLink(context.folder, path)) continue;
    const isAsCommitted =
      inCommit === undefined ? !(await exists(`${context.folder}/${path}`)) : !changed.includes(path);
    const isOurs =
      (isIndexSwitched && isAsCommitted) ||
      (mayBePartial && (await wasTouched(checkout, switched, note.files[path])));
    if (isOurs) ours.add(path);
  }
  return ours;
}

/** Whether an interrupted switch has touched a file: it is gone, or holds all or the beginning of the commit's content. */
async function wasTouched(
  { repository: { context }, objects }: Checkout,
  { path, inCommit }: SwitchedPath,
  markBefore: string | undefined,
): Promise<boolean> {
  const file = `${context.folder}/${path}`;
  if ((await fileMark(file)) === markBefore) return false;
  if (!(await exists(file))) return true;
  if (inCommit === undefined) return false;
  const id = inCommit.split(' ')[1] ?? '';
  if (!(await lstat(file)).isFile()) return false;
  const found = await readFile(file);
  const committed = (await objects.contents(id)) ?? Buffer.alloc(0);
  if (committed.subarray(0, found.length).equals(found)) return true;
  // Attributes can change line ends and the like; git applies them in reverse when it hashes.
  return !path.includes('\n') && (await runGit(context, commands.hashFiles(), `${path}\n`)).trim() === id;
}

/**
 * Sets index entries to those of HEAD. `commit` tells how long ids are: another repository, with another object format, can
 * have taken the place of the one that was opened.
 */
async function resetIndex(
  checkout: HeldCheckout,
  commit: string,
  paths: readonly SwitchedPath[],
): Promise<void> {
  const none = `0 ${nullIdLike(commit)}`;
  const lines = paths.map(({ path, inHead }) => `${inHead ?? none}\t${path}\0`).join('');
  if (lines !== '') await changeIndex(checkout, commands.setIndex(), lines);
}

/** Restores files to the index entries of HEAD, or removes them if HEAD does not have them. */
async function restoreFiles(checkout: HeldCheckout, paths: readonly SwitchedPath[]): Promise<void> {
  const { context } = checkout.repository;
  const kept = paths.filter(({ inHead }) => inHead !== undefined).map(({ path }) => `${path}\0`);
  if (kept.length > 0) await changeIndex(checkout, commands.checkOutFiles(), kept.join(''));
  for (const { path } of paths.filter(({ inHead }) => inHead === undefined)) {
    await rm(`${context.folder}/${path}`, { force: true });
    await removeEmptyFolders(context.folder, posix.dirname(path));
  }
}

async function removeEmptyFolders(top: string, path: string): Promise<void> {
  try {
    for (let folder = path; folder !== '.'; folder = posix.dirname(folder)) await rmdir(`${top}/${folder}`);
  } catch {
    // The folder is not empty.
  }
}
