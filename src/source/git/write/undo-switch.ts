import { lstat, readFile, rm, rmdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { isThere } from '../../../disk/there.ts';
import { HoldfastError } from '../../../errors.ts';
import { commands, emptyTreeLike, noObjectLike } from '../process/commands.ts';
import { askGit, runGit } from '../process/run.ts';
import { parseLines } from '../read/tree.ts';
import { currentBranch, tipOf, unreadable } from '../repository/refs.ts';
import { type Checkout, changeIndex, type HeldCheckout } from '../work-tree/held-index.ts';
import { isBehindLink, refreshIndex, switchTree } from '../work-tree/work-tree.ts';
import { fileMark, isFromEarlierBoot, type SwitchNote } from './switch-note.ts';

/** What a tree or the index has at a path, as `<mode> <id>`; undefined for nothing. */
type Entry = string | undefined;
type Entries = ReadonlyMap<string, string>;

/** One path of the switch: what the three trees and the index have there. */
interface SwitchedPath {
  path: string;
  to: Entry;
  /** Where the branch is now: what index and work tree go to. */
  now: Entry;
  indexed: Entry;
}

/**
 * Takes index and work tree from a commit that was never published to where HEAD is now, and touches nothing that
 * a person did meanwhile: neither a file that was changed after it was switched, nor one that was not switched at
 * all, nor a path that was staged anew. Resolves to false where the commit was published after all.
 *
 * The index is replaced as a whole and after all files, so it says whether the switch came to its end: then a
 * file is ours that is as the commit has it; before, one that is not what it was and begins like the commit's.
 * Doing it twice does no harm. After a loss of power the index can be there whole without the files: then both are
 * ours, the one that is as the commit has it and the one that was begun.
 */
export async function undoSwitch(checkout: HeldCheckout, note: SwitchNote): Promise<boolean> {
  const { objects, locks } = checkout;
  // A git outlives the manager that started it: what it does to index or branch has to be over before the look.
  await locks.settle();
  const tip = (await headOf(checkout)) ?? emptyTreeLike(note.to);
  if ((await objects.info(`${note.to}^{commit}`)) === null) {
    await refuseUndecided(checkout, note, tip);
    return false;
  }
  if (await isPublished(checkout, note.to, tip)) return false;
  const paths = await switchedPaths(checkout, note, tip);
  const isWhole = paths.some(({ indexed, to, now }) => indexed === to && now !== to);
  const canBeTorn = !isWhole || (await isFromEarlierBoot(note));
  const ours = await filesOfOurs(checkout, note, paths, { isWhole, canBeTorn });
  if (!canBeTorn && paths.every(({ path, indexed, to }) => ours.has(path) && indexed === to)) {
    // Nobody was here: git's own way back also knows what a sparse checkout leaves out.
    await switchTree(checkout, note.to, tip);
    return true;
  }
  await setIndex(
    checkout,
    note.to,
    paths.filter(({ indexed, to }) => indexed === to),
  );
  await restoreFiles(
    checkout,
    paths.filter(({ path, indexed, to, now }) => ours.has(path) && (indexed === to || indexed === now)),
  );
  return true;
}

/** The commit that HEAD is at; null on a branch without a commit. */
async function headOf({ repository, objects }: Checkout): Promise<string | null> {
  const branch = await currentBranch(repository);
  const at = branch === null ? 'HEAD' : await tipOf(repository, branch);
  if (at === null) return null;
  const commit = await objects.info(`${at}^{commit}`);
  if (commit === null) throw unreadable(branch);
  return commit.id;
}

async function isPublished({ repository }: Checkout, commit: string, tip: string): Promise<boolean> {
  if (tip === commit) return true;
  if (tip === emptyTreeLike(commit)) return false;
  return (await askGit(repository.context, commands.isAncestor(commit, tip))) !== null;
}

/**
 * Of a commit that is gone (a person removed what kept it) nobody can say what it had. Rejects as `conflict` where one
 * of its paths is neither as HEAD has it, nor the file that stood there before.
 */
async function refuseUndecided(checkout: HeldCheckout, { files }: SwitchNote, tip: string): Promise<void> {
  const { context, gitFolder } = checkout.repository;
  await refreshIndex(checkout);
  const [now, index] = await Promise.all([treeEntries(checkout, tip), indexEntries(checkout)]);
  const changed = (await runGit(context, commands.changedFiles())).split('\0');
  const left: string[] = [];
  for (const [path, markBefore] of Object.entries(files)) {
    const isAsIndexed = index.has(path)
      ? !changed.includes(path)
      : !(await isThere(`${context.folder}/${path}`));
    const isNotOurs = isAsIndexed || (await fileMark(`${context.folder}/${path}`)) === markBefore;
    if (index.get(path) !== now.get(path) || !isNotOurs) left.push(path);
  }
  if (left.length === 0) return;
  const message = `${left.join(', ')}: possibly left by an interrupted write, whose commit is gone; restore or commit it, or remove ${gitFolder}/holdfast-switch`;
  throw new HoldfastError('conflict', message);
}

/** The paths that the switch was about, without those that are at HEAD as the commit has them. */
async function switchedPaths(checkout: Checkout, note: SwitchNote, tip: string): Promise<SwitchedPath[]> {
  const [to, now, index] = await Promise.all([
    treeEntries(checkout, note.to),
    treeEntries(checkout, tip),
    indexEntries(checkout),
  ]);
  return Object.keys(note.files)
    .map((path) => ({ path, to: to.get(path), now: now.get(path), indexed: index.get(path) }))
    .filter((path) => path.to !== path.now);
}

async function treeEntries({ repository: { context } }: Checkout, tree: string): Promise<Entries> {
  const listed = await runGit(context, commands.listTree(tree));
  return new Map(parseLines(listed, ([mode, , id], path) => [path, `${mode} ${id}`]));
}

/** A path in conflict has several entries; the last one counts: it is none of ours. */
async function indexEntries({ repository: { context } }: Checkout): Promise<Entries> {
  const listed = await runGit(context, commands.listIndex());
  return new Map(parseLines(listed, ([mode, id], path) => [path, `${mode} ${id}`]));
}

/** The paths whose files the switch wrote or removed, and nobody has changed since. */
async function filesOfOurs(
  checkout: HeldCheckout,
  note: SwitchNote,
  paths: readonly SwitchedPath[],
  { isWhole, canBeTorn }: { isWhole: boolean; canBeTorn: boolean },
): Promise<Set<string>> {
  const { context } = checkout.repository;
  if (isWhole) await refreshIndex(checkout);
  const changed = isWhole ? (await runGit(context, commands.changedFiles())).split('\0') : [];
  const ours = new Set<string>();
  for (const switched of paths) {
    const { path, to } = switched;
    if (await isBehindLink(context.folder, path)) continue;
    const isAsCommitted =
      to === undefined ? !(await isThere(`${context.folder}/${path}`)) : !changed.includes(path);
    const isOurs =
      (isWhole && isAsCommitted) || (canBeTorn && (await isBegun(checkout, switched, note.files[path])));
    if (isOurs) ours.add(path);
  }
  return ours;
}

/** Whether a switch that was cut short has touched the file: it is gone, or holds a beginning of the commit's. */
async function isBegun(
  { repository: { context }, objects }: Checkout,
  { path, to }: SwitchedPath,
  markBefore: string | undefined,
): Promise<boolean> {
  const file = `${context.folder}/${path}`;
  if ((await fileMark(file)) === markBefore) return false;
  if (!(await isThere(`${context.folder}/${path}`))) return true;
  if (to === undefined) return false;
  const id = to.split(' ')[1] ?? '';
  const found = (await lstat(file)).isFile() ? await readFile(file) : null;
  if (found === null) return false;
  const wanted = (await objects.contents(id)) ?? Buffer.alloc(0);
  if (wanted.subarray(0, found.length).equals(found)) return true;
  // Line ends and the like are written as the attributes say; git knows them.
  return !path.includes('\n') && (await runGit(context, commands.hashFiles(), `${path}\n`)).trim() === id;
}

/**
 * Ids are as long as that of the commit: since the repository was opened, one of another format can have taken its
 * place.
 */
async function setIndex(
  checkout: HeldCheckout,
  commit: string,
  paths: readonly SwitchedPath[],
): Promise<void> {
  const none = `0 ${noObjectLike(commit)}`;
  const lines = paths.map(({ path, now }) => `${now ?? none}\t${path}\0`).join('');
  if (lines !== '') await changeIndex(checkout, commands.setIndex(), lines);
}

async function restoreFiles(checkout: HeldCheckout, paths: readonly SwitchedPath[]): Promise<void> {
  const { context } = checkout.repository;
  const kept = paths.filter(({ now }) => now !== undefined).map(({ path }) => `${path}\0`);
  if (kept.length > 0) await changeIndex(checkout, commands.checkOutFiles(), kept.join(''));
  for (const { path } of paths.filter(({ now }) => now === undefined)) {
    await rm(`${context.folder}/${path}`, { force: true });
    await dropEmptyFolders(context.folder, posix.dirname(path));
  }
}

async function dropEmptyFolders(top: string, path: string): Promise<void> {
  try {
    for (let folder = path; folder !== '.'; folder = posix.dirname(folder)) await rmdir(`${top}/${folder}`);
  } catch {
    // One has something in it.
  }
}
