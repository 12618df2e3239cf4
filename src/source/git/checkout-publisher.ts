import { dirname, posix } from 'node:path';
import { HoldfastError } from '../../errors.ts';
import type { CommitDraft, FileEdit, Head, Publisher } from '../source.ts';
import { commands, refName } from './commands.ts';
import { openCommitWriter } from './commit-writer.ts';
import { withoutFilters } from './filters.ts';
import { isLocked } from './locks.ts';
import { openRefMover, type RefMover } from './ref-mover.ts';
import { currentBranch, type Repository } from './repository.ts';
import { GitFailure, runGit } from './run.ts';
import { fileMark, NO_FILE, openSwitchNotes, type SwitchNote, type SwitchNotes } from './switch-note.ts';
import { syncChanged, syncFiles, syncFolder, syncFoldersUpTo } from './sync.ts';
import { undoSwitch } from './undo-switch.ts';
import {
  type Checkout,
  dirtyFiles,
  dirtyPaths,
  refuseCheckedOutElsewhere,
  refuseDirtyFiles,
  switchTree,
} from './work-tree.ts';

const MOVED = /cannot lock ref .*: (is at|reference already exists|unable to resolve)/;
const UNMERGED = /resolve your current index first/;
/** Said of what a tree that was made by hand can hold, and a disk cannot. */
const IMPOSSIBLE = /invalid path '|File name too long/;
const DIRTY = /not uptodate|would be overwritten|would be removed|Cannot merge/;

/** What an earlier write left half done in the checkout was undone; `commit` is not published. */
export interface Undone {
  commit: string;
}

/** The publisher of a work tree, which can be caught between two of its steps. */
export interface CheckoutPublisher extends Publisher {
  /**
   * Undoes what an earlier process, or a failed write, left half done in the work tree. Resolves to null where there
   * was nothing. Rejects as `conflict` while another process is at it, and where a living process holds a lock.
   */
  recover(): Promise<Undone | null>;
}

/** A move of the branch, and whether index and work tree go with it. */
interface Move {
  branch: string;
  from: string | null;
  to: string;
  /** Paths from the top of the work tree. */
  paths: string[];
  isCheckedOut: boolean;
}

/**
 * Publishes into the branch of a repository on this machine. Where the branch is checked out, index and work
 * tree follow: only the paths of the commits are touched, and git refuses where one of them has uncommitted
 * work.
 */
export function createCheckoutPublisher(checkout: Checkout): CheckoutPublisher {
  const { repository, faults, maintenance } = checkout;
  const { context, prefix } = repository;
  const writer = openCommitWriter(context, prefix);
  const refs = openRefMover(repository);
  const notes = openSwitchNotes(repository);

  const publish = async (base: Head, drafts: readonly CommitDraft[]): Promise<string[]> => {
    if (base.branch === null) {
      throw new HoldfastError('conflict', 'HEAD is detached; check out a branch, then writes go there');
    }
    const branch = refName(base.branch);
    const paths = drafts.flatMap(({ edits }) => edits.map(({ path }) => path));
    try {
      await recover(checkout, notes);
      refs.prepare();
      const [commits, quiet] = await Promise.all([
        writer.write(base.revision, drafts),
        withoutFilters(checkout),
      ]);
      const [isCheckedOut] = await Promise.all([
        refuseMove(quiet, branch, base.revision, drafts),
        syncFolder(`${repository.commonFolder}/objects/pack`),
      ]);
      faults.pass('commit-written');
      const to = commits.at(-1) as string;
      const full = paths.map((path) => posix.join(prefix, path));
      await move(quiet, { notes, refs }, { branch, from: base.revision, to, paths: full, isCheckedOut });
      void maintenance.run();
      return commits;
    } catch (error) {
      const refusal = publishError(error, paths, prefix);
      // What somebody committed meanwhile looks like uncommitted work to a tree that was made before.
      const isOvertaken = refusal.kind === 'conflict' && (await tipOf(repository, branch)) !== base.revision;
      throw isOvertaken ? movedOn(error) : refusal;
    }
  };

  return {
    publish,
    recover: () =>
      recover(checkout, notes).catch((error) => {
        throw publishError(error, [], prefix);
      }),
    close: async () => {
      await Promise.all([writer.close(), refs.close(), notes.close()]);
    },
  };
}

/** Rejects as `conflict` what would overwrite a person's work; resolves to whether the branch is checked out here. */
async function refuseMove(
  checkout: Checkout,
  branch: string,
  base: string | null,
  drafts: readonly CommitDraft[],
): Promise<boolean> {
  const { repository } = checkout;
  const isCheckedOut = (await currentBranch(repository)) === branch;
  if (isCheckedOut) await refuseDirtyFiles(checkout, base ?? repository.emptyTree, lastEdits(drafts));
  else await refuseCheckedOutElsewhere(repository, branch);
  return isCheckedOut;
}

async function recover(checkout: Checkout, notes: SwitchNotes): Promise<Undone | null> {
  const note = await notes.read();
  if (note === null) return null;
  checkout.faults.pass('undo-begins');
  const isUndone = await undoSwitch(await withoutFilters(checkout), note);
  const { context, gitFolder } = checkout.repository;
  await Promise.all([syncFiles(context.folder, Object.keys(note.files)), syncFolder(gitFolder)]);
  checkout.faults.pass('undo-done');
  await notes.clear();
  return isUndone ? { commit: note.to } : null;
}

/** What all drafts together leave in each file. */
function lastEdits(drafts: readonly CommitDraft[]): FileEdit[] {
  return [...new Map(drafts.flatMap(({ edits }) => edits).map((edit) => [edit.path, edit])).values()];
}

/** What a move is made with. */
interface Movers {
  notes: SwitchNotes;
  refs: RefMover;
}

/** Index and work tree first, then the branch; a note says so for as long as they are apart. */
async function move(checkout: Checkout, { notes, refs }: Movers, move: Move): Promise<void> {
  const { repository, faults, locks } = checkout;
  if (move.isCheckedOut) await switchNoted(checkout, notes, move);
  faults.pass('tree-switched');
  try {
    await locks.wait(() => refs.move(move.branch, move.from, move.to));
  } catch (error) {
    // A git that said nothing may have moved it all the same.
    const hasMoved = !isAnswered(error) && (await tipOf(repository, move.branch)) === move.to;
    if (!hasMoved) {
      // Where this fails too, the note stays, and the next write or the next start begins with it.
      await recover(checkout, notes).catch(() => undefined);
      throw error;
    }
  }
  faults.pass('branch-moved');
  const heads = `${repository.commonFolder}/refs/heads`;
  await syncFoldersUpTo(heads, `${repository.commonFolder}/${dirname(move.branch)}`);
  faults.pass('branch-synced');
  if (move.isCheckedOut) await notes.clear();
  faults.pass('publish-done');
}

/** The commit that a branch is at; null where it has none. */
async function tipOf({ context }: Repository, branch: string): Promise<string | null> {
  const tip = await runGit(context, commands.tip(branch)).catch(() => '');
  return tip.trim() || null;
}

function movedOn(cause: unknown): HoldfastError {
  return new HoldfastError('moved-on', 'the branch moved meanwhile', {}, cause);
}

async function switchNoted(checkout: Checkout, notes: SwitchNotes, { from, to, paths }: Move): Promise<void> {
  const { repository, faults } = checkout;
  const { folder } = repository.context;
  const before = from ?? repository.emptyTree;
  const marks = paths.map(async (path) => [path, await fileMark(`${folder}/${path}`)] as const);
  const files: SwitchNote['files'] = Object.fromEntries(await Promise.all(marks));
  await notes.write({ to, files });
  faults.pass('switch-noted');
  try {
    await switchTree(checkout, before, to);
    // git syncs no file of a work tree: one that a loss of power empties would look like somebody's work on it.
    const existed = (path: string): boolean => files[path] !== NO_FILE;
    await Promise.all([syncChanged(folder, paths, existed), syncFolder(repository.gitFolder)]);
  } catch (error) {
    if (isRefusal(error)) await notes.clear();
    else await recover(checkout, notes).catch(() => undefined);
    throw error;
  }
}

function isAnswered(error: unknown): boolean {
  return error instanceof GitFailure && error.exitCode !== null;
}

/** git looked at everything, and touched nothing. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof GitFailure)) return false;
  return isLocked(error) || UNMERGED.test(error.stderr) || DIRTY.test(error.stderr);
}

function publishError(error: unknown, paths: string[], prefix: string): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = error instanceof GitFailure ? error.stderr : String(error);
  if (MOVED.test(text)) return movedOn(error);
  if (DIRTY.test(text)) return dirtyFiles(dirtyPaths(text, paths, prefix), error);
  if (UNMERGED.test(text)) {
    const message = 'a merge in the checkout is not finished; finish it, or abort it';
    return new HoldfastError('conflict', message, {}, error);
  }
  if (IMPOSSIBLE.test(text)) {
    const message =
      'the branch has a path that no work tree can hold; see the problems, and commit without it';
    return new HoldfastError('conflict', message, {}, error);
  }
  if (isLocked(error)) {
    const message = 'another git process holds a lock of the repository; end it, or remove the lock it left';
    return new HoldfastError('conflict', message, {}, error);
  }
  return new HoldfastError('unavailable', 'git could not publish the commit', {}, error);
}
