import { posix } from 'node:path';
import { descriptorShortage } from '../../../disk/descriptors.ts';
import { HoldfastError } from '../../../errors.ts';
import type { CommitDraft, FileEdit, Publisher } from '../../source.ts';
import { refName } from '../process/commands.ts';
import { withoutPrograms } from '../repository/programs.ts';
import { branchTip, currentBranch } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { type Checkout, prepareIndex } from '../work-tree/held-index.ts';
import { refuseCheckedOutElsewhere, writtenFiles } from '../work-tree/work-tree.ts';
import { createBaseOnDisk } from './base-on-disk.ts';
import type { CommitWriter } from './commit-writer.ts';
import { type Move, moveBranch, type Undone, undoNoted } from './move-branch.ts';
import { openRefMover } from './ref-mover.ts';
import { isObjectMissing, movedOn, publishError } from './refusals.ts';
import { openSwitchNotes } from './switch-note.ts';
import { createTreeSwitcher, type TreeSwitcher } from './tree-switcher.ts';

/** How many descriptors a write and its undoing need at most, with some to spare. */
const NEEDED_DESCRIPTORS = 24;

/** The publisher of a work tree, whose writes can be interrupted between two steps. */
export interface CheckoutPublisher extends Publisher {
  /**
   * Undoes what an earlier process or a failed write left half done in the work tree. Resolves to null if there was
   * nothing to undo. Rejects as `conflict` while a git of a dead manager still runs, and while a running process holds
   * a lock.
   */
  recover(): Promise<Undone | null>;
}

/**
 * Publishes to a branch of a repository on this machine. If the branch is checked out, index and work tree move with it:
 * only the paths of the commits are touched, and a path with uncommitted work is refused. `onUndone` is called when a
 * write has first undone what an earlier write left half done.
 */
export function createCheckoutPublisher(
  checkout: Checkout,
  writer: CommitWriter,
  onUndone: (undone: Undone) => void,
): CheckoutPublisher {
  const { repository, faults, maintenance } = checkout;
  const { prefix } = repository;
  const refs = openRefMover(repository);
  const notes = openSwitchNotes(repository);
  const trees = createTreeSwitcher();
  const baseOnDisk = createBaseOnDisk(repository);

  const attempt: Publisher['publish'] = async (base, drafts, onMade) => {
    if (base.branch === null) {
      throw new HoldfastError('conflict', 'HEAD is detached; check out a branch for writes to go to');
    }
    const branch = refName(base.branch);
    const paths = drafts.flatMap(({ edits }) => edits.map(({ path }) => path));
    try {
      requireDescriptors();
      const undone = await undoNoted(checkout, notes);
      if (undone !== null) onUndone(undone);
      refs.prepare();
      const [commits, { safeCheckout, ...prepared }] = await settleAll(
        writer.write(base.revision, drafts),
        prepareMove(checkout, trees, branch, base.revision, drafts),
        baseOnDisk.sync(base.revision),
      );
      faults.pass('commit-written');
      onMade?.(commits);
      const full = paths.map((path) => posix.join(prefix, path));
      const move = { branch, from: base.revision, commits, paths: full, ...prepared };
      await moveBranch(safeCheckout, { notes, refs, trees }, move);
      baseOnDisk.markSynced(commits.at(-1) as string);
      return commits;
    } catch (error) {
      const refusal = publishError(error, paths, prefix);
      // To a tree that was made before it, someone's new commit looks like uncommitted work.
      const isOvertaken =
        refusal.kind === 'conflict' && (await hasBranchMoved(repository, branch, base.revision));
      throw isOvertaken ? movedOn(error) : refusal;
    }
  };

  return {
    publish: (...args) =>
      maintenance.addingObjects(() => retryIfObjectMissing(writer, () => attempt(...args))),
    recover: () =>
      undoNoted(checkout, notes).catch((error) => {
        throw publishError(error, [], prefix);
      }),
    close: async () => {
      await Promise.all([writer.close(), refs.close(), checkout.launcher.close()]);
    },
  };
}

/** A write that runs out of descriptors half way cannot be undone until there are some again, so it must not start. */
function requireDescriptors(): void {
  const trouble = descriptorShortage(NEEDED_DESCRIPTORS);
  if (trouble === null) return;
  throw new HoldfastError('unavailable', `git could not publish the commit: ${trouble}`);
}

/** Like `Promise.all`, but waits until all promises have settled: after a failure, none may still be running. */
async function settleAll<T extends readonly unknown[]>(
  ...promises: { [Key in keyof T]: Promise<T[Key]> }
): Promise<T> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as unknown as T;
}

/**
 * Reads what the move of the branch will need, and starts the process that changes the index. Resolves also to the
 * checkout in which no filters or hooks run. Rejects as `refuseCheckedOutElsewhere` does.
 */
async function prepareMove(
  checkout: Checkout,
  trees: TreeSwitcher,
  branch: string,
  base: string | null,
  drafts: readonly CommitDraft[],
): Promise<{ safeCheckout: Checkout } & Pick<Move, 'isCheckedOut' | 'written' | 'clean'>> {
  const repository = await withoutPrograms(checkout.repository);
  const safeCheckout = { ...checkout, repository };
  prepareIndex(safeCheckout);
  const isCheckedOut = (await currentBranch(repository)) === branch;
  if (!isCheckedOut) await refuseOtherHolder(repository, branch);
  const edits = lastEdits(drafts);
  const [written, clean] = await settleAll(
    // Someone can still check the branch out, so this is also needed if it is not.
    writtenFiles(safeCheckout, base, edits),
    isCheckedOut && base !== null ? trees.prepare(safeCheckout, base, edits) : Promise.resolve(null),
  );
  return { safeCheckout, isCheckedOut, written, clean };
}

/** Rejects as `moved-on` if the holder is this very work tree, which has just been switched to the branch. */
async function refuseOtherHolder(repository: Repository, branch: string): Promise<void> {
  try {
    await refuseCheckedOutElsewhere(repository, branch);
  } catch (error) {
    throw (await currentBranch(repository)) === branch ? movedOn(error) : error;
  }
}

/** Retries once with a new `fast-import`: a running one relies on objects that it has seen, and `git gc` may drop them. */
async function retryIfObjectMissing<T>(writer: CommitWriter, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isObjectMissing((error as Error).cause)) throw error;
    await writer.close();
    return work();
  }
}

async function hasBranchMoved(repository: Repository, branch: string, base: string | null): Promise<boolean> {
  const tip = await branchTip(repository, branch).catch(() => base);
  return tip !== base;
}

/** Returns the last edit of each file in all drafts together. */
function lastEdits(drafts: readonly CommitDraft[]): FileEdit[] {
  return [...new Map(drafts.flatMap(({ edits }) => edits).map((edit) => [edit.path, edit])).values()];
}
