import { mapInLanes } from '../../../async/lanes.ts';
import { syncChanged, syncFiles, syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import { emptyTreeLike, noObjectLike } from '../process/commands.ts';
import { withoutPrograms } from '../repository/programs.ts';
import { currentBranch, tipOf } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { syncRef } from '../repository/sync-ref.ts';
import { type Checkout, type HeldCheckout, holdingIndex } from '../work-tree/held-index.ts';
import { LOOKS, refuseDirtyFiles, switchTree, type WrittenFiles } from '../work-tree/work-tree.ts';
import type { RefMover } from './ref-mover.ts';
import { isRefusal, movedOn } from './refusals.ts';
import { fileMark, NO_FILE, type SwitchNote, type SwitchNotes } from './switch-note.ts';
import { undoSwitch } from './undo-switch.ts';

/** An unfinished write of the checkout was undone; its `commit` is not published. */
export interface Undone {
  commit: string;
}

/** What a move is made with. */
export interface Movers {
  notes: SwitchNotes;
  refs: RefMover;
}

/** A move of the branch to the last of these commits, and whether index and work tree go with it. */
export interface Move {
  branch: string;
  from: string | null;
  commits: readonly string[];
  /** Paths from the top of the work tree. */
  paths: string[];
  isCheckedOut: boolean;
  /** None where the branch is not checked out. */
  written: WrittenFiles;
}

/** Undoes the switch that the note tells of; null where there is none. Rejects as `conflict`, and with what git says. */
export async function recoverNoted(checkout: Checkout, notes: SwitchNotes): Promise<Undone | null> {
  if ((await notes.read()) === null) return null;
  const repository = await withoutPrograms(checkout.repository);
  return holdingIndex({ ...checkout, repository }, async (held) => {
    // What another manager was at has come to its end by now, or will never.
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
 * Index and work tree first, then the branch; a note says so for as long as they are apart. The index is locked all the
 * time, so that no commit, reset or switch of a person comes in between, nor another manager; HEAD is looked at before
 * and after each step all the same, since it follows a switch without that lock (docs/decisions/0014-one-lock-for-a-write.md).
 *
 * Rejects as `moved-on` where another branch is checked out by now, and with what git says; with `details.commits` once
 * the branch has moved, unless it was moved back.
 */
export async function moveBranch(checkout: Checkout, movers: Movers, move: Move): Promise<void> {
  const { faults } = checkout;
  await holdingIndex(checkout, async (held) => {
    await switchFirst(held, movers, move);
    faults.pass('tree-switched');
    await moveRef(held, movers, move);
    faults.pass('branch-moved');
    const isPublished = await reportingPublished(move, () => finishMove(held, movers, move));
    if (!isPublished) throw movedOn();
  });
  faults.pass('publish-done');
}

async function switchFirst(held: HeldCheckout, { notes }: Movers, move: Move): Promise<void> {
  const { repository } = held;
  if (await hasHeadMoved(repository, move)) throw movedOn();
  if (!move.isCheckedOut) return;
  const failure = await switchOrUndo(held, notes, move).then(
    () => null,
    (error: unknown) => error,
  );
  if (await hasHeadMoved(repository, move)) {
    if (failure === null) await recoverNoted(held, notes).catch(() => undefined);
    throw movedOn(failure);
  }
  if (failure !== null) throw failure;
}

/** Whether a person has switched to the branch or away from it since it was looked at. */
async function hasHeadMoved(repository: Repository, { branch, isCheckedOut }: Move): Promise<boolean> {
  return ((await currentBranch(repository)) === branch) !== isCheckedOut;
}

async function moveRef(held: HeldCheckout, { notes, refs }: Movers, move: Move): Promise<void> {
  const { repository, locks } = held;
  try {
    await locks.wait(() => refs.move(move.branch, move.from, tipAfter(move)));
  } catch (error) {
    const outcome = await outcomeOf(repository, move);
    if (outcome === 'moved') return;
    // Where this fails too, the note stays, and the next write or the next start begins with it.
    await recoverNoted(held, notes).catch(() => undefined);
    if (outcome === 'not moved') throw error;
    const message = 'git did not report whether the commit is published';
    throw new HoldfastError('unavailable', message, { commits: move.commits }, error);
  }
}

/** What became of a move that failed: a git that said nothing, or failed at what comes after, has made it all the same. */
async function outcomeOf(repository: Repository, move: Move): Promise<'moved' | 'not moved' | 'unknown'> {
  const tip = await tipOf(repository, move.branch).catch(() => undefined);
  if (tip === undefined) return 'unknown';
  return tip === tipAfter(move) ? 'moved' : 'not moved';
}

/**
 * Ends the write after the branch has moved. Resolves to false if the branch was moved back, because it came to be
 * checked out in the meantime, with index and files as they were before.
 */
async function finishMove(held: HeldCheckout, { notes, refs }: Movers, move: Move): Promise<boolean> {
  const { repository, locks, faults } = held;
  if (await hasHeadMoved(repository, move)) {
    if (!move.isCheckedOut) {
      const before = move.from ?? noObjectLike(tipAfter(move));
      await locks.wait(() => refs.move(move.branch, tipAfter(move), before));
      return false;
    }
    // What was switched belongs to the branch, and not to what is checked out now.
    await recoverNoted(held, notes);
  }
  await syncRef(repository, move.branch);
  faults.pass('branch-synced');
  if (move.isCheckedOut) await notes.clear();
  return true;
}

/** Whatever fails once the branch has moved must not look as if nothing had happened. */
async function reportingPublished<T>({ commits }: Move, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    const message = 'the commit is published, but the checkout could not be updated';
    throw new HoldfastError('unavailable', message, { commits }, error);
  }
}

function tipAfter({ commits }: Move): string {
  return commits.at(-1) as string;
}

async function switchOrUndo(held: HeldCheckout, notes: SwitchNotes, move: Move): Promise<void> {
  const before = await noteSwitch(held, notes, move);
  try {
    await switchNoted(held, move, before);
  } catch (error) {
    await undoFailed(held, notes, error);
    throw error;
  }
}

/** Resolves to the files' marks from before the switch, once the note of it is on the disk. */
async function noteSwitch(held: HeldCheckout, notes: SwitchNotes, move: Move): Promise<Marks> {
  const { repository, faults } = held;
  const { paths, written } = move;
  const marks = await mapInLanes(
    LOOKS,
    paths,
    async (path) => [path, await fileMark(`${repository.context.folder}/${path}`)] as const,
  );
  const files: Marks = Object.fromEntries(marks);
  await refuseDirtyFiles(repository, paths, written, (path) => files[path] !== NO_FILE);
  await notes.write({ to: tipAfter(move), files });
  faults.pass('switch-noted');
  return files;
}

type Marks = SwitchNote['files'];

async function switchNoted(held: HeldCheckout, move: Move, before: Marks): Promise<void> {
  const { context, gitFolder } = held.repository;
  const existed = (path: string): boolean => before[path] !== NO_FILE;
  await switchTree(held, move.from ?? emptyTreeLike(tipAfter(move)), tipAfter(move));
  // git syncs no file of a work tree: one that a loss of power empties would look like somebody's work on it.
  await Promise.all([syncChanged(context.folder, move.paths, existed), syncFolder(gitFolder)]);
}

/** Undoes a switch that failed. Where this fails too, the note stays, and the next write or the next start begins with it. */
async function undoFailed(held: HeldCheckout, notes: SwitchNotes, error: unknown): Promise<void> {
  const undo = isRefusal(error) ? notes.clear() : recoverNoted(held, notes);
  await undo.catch(() => undefined);
}
