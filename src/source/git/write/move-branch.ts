import { mapConcurrently } from '../../../async/concurrency.ts';
import { syncChanged, syncFiles, syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { emptyTreeIdLike, nullIdLike } from '../process/object-ids.ts';
import { withoutPrograms } from '../repository/programs.ts';
import { branchTip, currentBranch } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { syncRef } from '../repository/sync-ref.ts';
import { type Checkout, type HeldCheckout, withIndexLock } from '../work-tree/held-index.ts';
import { FILE_CONCURRENCY, refuseDirtyFiles, type WrittenFiles } from '../work-tree/work-tree.ts';
import type { RefMover } from './ref-mover.ts';
import { isRefusal, movedOn } from './refusals.ts';
import { fileMark, NO_FILE, type SwitchNote, type SwitchNotes } from './switch-note.ts';
import type { CleanIndex, TreeSwitcher } from './tree-switcher.ts';
import { undoSwitch } from './undo-switch.ts';

/** An unfinished write that was undone; its `commit` is not published. */
export interface Undone {
  commit: string;
}

/** What a move of the branch uses besides the checkout. */
export interface MoveTools {
  notes: SwitchNotes;
  refs: RefMover;
  trees: TreeSwitcher;
}

/** A move of the branch to the last of `commits`; if the branch is checked out, index and work tree move with it. */
export interface Move {
  branch: string;
  /** The commit that the branch is at; null if it does not exist. */
  from: string | null;
  commits: readonly string[];
  /** Paths from the top of the work tree. */
  paths: string[];
  isCheckedOut: boolean;
  written: WrittenFiles;
  /** Null if only git can tell whether the index has uncommitted work. */
  clean: CleanIndex | null;
}

/**
 * Undoes the switch that a note records, and clears the note. Resolves to null if there is no note, or if the commit was
 * published after all. Rejects as `conflict`, or with a GitFailure.
 */
export async function undoNoted(checkout: Checkout, notes: SwitchNotes): Promise<Undone | null> {
  if ((await notes.read()) === null) return null;
  const repository = await withoutPrograms(checkout.repository);
  return withIndexLock({ ...checkout, repository }, async (held) => {
    // Read again: now that the lock is ours, no other manager's write can still be running.
    const note = await notes.read();
    if (note === null) return null;
    held.faults.pass('undo-begins');
    const isUndone = await undoSwitch(held, note);
    const { context, gitFolder } = held.repository;
    await Promise.all([syncFiles(context.folder, Object.keys(note.files)), syncFolder(gitFolder)]);
    held.faults.pass('undo-done');
    await notes.clear();
    return isUndone ? { commit: note.to } : null;
  });
}

/**
 * Switches index and work tree, then moves the branch; a note is on the disk while they differ. The index stays locked all
 * the time, so that no commit, reset or switch of a user, nor another manager, comes in between. HEAD is nevertheless read
 * before and after each step, since git writes it without that lock (docs/decisions/0014-one-lock-for-a-write.md).
 *
 * Rejects as `moved-on` if someone has switched to the branch or away from it, and otherwise with what git reports. If the
 * commits are published, or may be, the rejection has `details.commits`.
 */
export async function moveBranch(checkout: Checkout, tools: MoveTools, move: Move): Promise<void> {
  const { faults } = checkout;
  await withIndexLock(checkout, async (held) => {
    await switchCheckout(held, tools, move);
    faults.pass('tree-switched');
    await moveRef(held, tools, move);
    faults.pass('branch-moved');
    await reportingPublished(move, () => finishMove(held, tools, move));
  });
  faults.pass('publish-done');
}

async function switchCheckout(held: HeldCheckout, tools: MoveTools, move: Move): Promise<void> {
  const { repository } = held;
  const { notes } = tools;
  if (await hasHeadMoved(repository, move)) throw movedOn();
  if (!move.isCheckedOut) return;
  const failure = await switchOrUndo(held, tools, move).then(
    () => null,
    (error: unknown) => error,
  );
  if (await hasHeadMoved(repository, move)) {
    if (failure === null) await undoNoted(held, notes).catch(() => undefined);
    throw movedOn(failure);
  }
  if (failure !== null) throw failure;
}

/** Whether someone has switched to the branch, or away from it, since the move was prepared. */
async function hasHeadMoved(repository: Repository, { branch, isCheckedOut }: Move): Promise<boolean> {
  return ((await currentBranch(repository)) === branch) !== isCheckedOut;
}

async function moveRef(held: HeldCheckout, { notes, refs }: MoveTools, move: Move): Promise<void> {
  const { repository, locks } = held;
  try {
    await locks.wait(() => refs.move(move.branch, move.from, tipAfter(move)));
  } catch (error) {
    const outcome = await outcomeOf(repository, move);
    if (outcome === 'moved') return;
    // If this fails, too, the note stays, and the next write or start undoes the switch.
    await undoNoted(held, notes).catch(() => undefined);
    if (outcome === 'not moved') throw error;
    const message = 'git did not report whether the commit is published';
    throw new HoldfastError('unavailable', message, { commits: move.commits }, error);
  }
}

/** Resolves to the outcome of a failed move: a git that died or failed afterwards can have moved the branch. */
async function outcomeOf(repository: Repository, move: Move): Promise<'moved' | 'not moved' | 'unknown'> {
  const tip = await branchTip(repository, move.branch).catch(() => undefined);
  if (tip === undefined) return 'unknown';
  return tip === tipAfter(move) ? 'moved' : 'not moved';
}

async function finishMove(held: HeldCheckout, tools: MoveTools, move: Move): Promise<void> {
  const { repository, faults } = held;
  if (await hasHeadMoved(repository, move)) await followHead(held, tools, move);
  await syncRef(repository, move.branch);
  faults.pass('branch-synced');
  if (move.isCheckedOut) await tools.notes.clear();
}

/** Brings index and files to what is checked out now, after someone switched to the branch or away from it. */
async function followHead(held: HeldCheckout, { notes, refs, trees }: MoveTools, move: Move): Promise<void> {
  // Someone switched away: the switched files do not belong to what is checked out now.
  if (move.isCheckedOut) return void (await undoNoted(held, notes));
  try {
    await switchAndSync(held, trees, move, await noteSwitch(held, notes, move));
  } catch (error) {
    // Uncommitted work is in the way. Without the write, it is as if they had switched a moment earlier.
    const before = move.from ?? nullIdLike(tipAfter(move));
    await held.locks.wait(() => refs.move(move.branch, tipAfter(move), before));
    // Only now: while the branch has the commit, a switch to it is not undone.
    await undoFailed(held, notes, error);
    throw new MovedBack(error);
  }
  await syncRef(held.repository, move.branch);
  await notes.clear();
}

/** The branch was moved back, because of the cause: the commits are not published. */
class MovedBack extends Error {
  constructor(cause: unknown) {
    super('the branch was moved back', { cause });
  }
}

/** Turns any failure after the branch has moved into one that says that the commits are published. */
async function reportingPublished({ commits }: Move, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (error instanceof MovedBack) throw error.cause;
    const message = explainFailure('the commit is published, but the checkout could not be updated', error);
    throw new HoldfastError('unavailable', message, { commits }, error);
  }
}

function tipAfter({ commits }: Move): string {
  return commits.at(-1) as string;
}

async function switchOrUndo(held: HeldCheckout, { notes, trees }: MoveTools, move: Move): Promise<void> {
  const before = await noteSwitch(held, notes, move);
  try {
    await switchAndSync(held, trees, move, before);
  } catch (error) {
    await undoFailed(held, notes, error);
    throw error;
  }
}

/** Writes the note of a switch to the disk. Resolves to the marks of the files before the switch. */
async function noteSwitch(held: HeldCheckout, notes: SwitchNotes, move: Move): Promise<FileMarks> {
  const { repository, faults } = held;
  const { paths, written } = move;
  const marks = await mapConcurrently(
    FILE_CONCURRENCY,
    paths,
    async (path) => [path, await fileMark(`${repository.context.folder}/${path}`)] as const,
  );
  const files: FileMarks = Object.fromEntries(marks);
  await refuseDirtyFiles(repository, paths, written, (path) => files[path] !== NO_FILE);
  await notes.write({ to: tipAfter(move), files });
  faults.pass('switch-noted');
  return files;
}

type FileMarks = SwitchNote['files'];

async function switchAndSync(
  held: HeldCheckout,
  trees: TreeSwitcher,
  move: Move,
  before: FileMarks,
): Promise<void> {
  const { context, gitFolder } = held.repository;
  const existed = (path: string): boolean => before[path] !== NO_FILE;
  const to = tipAfter(move);
  const from = move.from ?? emptyTreeIdLike(to);
  await trees.switch(held, { clean: move.clean, from, to, files: before });
  // git syncs no file of a work tree, and a file that a loss of power emptied would look like uncommitted work.
  await Promise.all([syncChanged(context.folder, move.paths, existed), syncFolder(gitFolder)]);
}

/** Undoes a failed switch. If this fails, too, the note stays, and the next write or start undoes the switch. */
async function undoFailed(held: HeldCheckout, notes: SwitchNotes, error: unknown): Promise<void> {
  const undo = isRefusal(error) ? notes.clear() : undoNoted(held, notes);
  await undo.catch(() => undefined);
}
