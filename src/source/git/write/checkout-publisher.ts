import { posix } from 'node:path';
import { missingDescriptors } from '../../../disk/descriptors.ts';
import { HoldfastError } from '../../../errors.ts';
import type { CommitDraft, FileEdit, Publisher } from '../../source.ts';
import { refName } from '../process/commands.ts';
import { withoutPrograms } from '../repository/programs.ts';
import { currentBranch, tipOf } from '../repository/refs.ts';
import type { Repository } from '../repository/repository.ts';
import { type Checkout, prepareIndex } from '../work-tree/held-index.ts';
import { refuseCheckedOutElsewhere, writtenFiles } from '../work-tree/work-tree.ts';
import { createBaseOnDisk } from './base-on-disk.ts';
import type { CommitWriter } from './commit-writer.ts';
import { type Move, moveBranch, recoverNoted, type Undone } from './move-branch.ts';
import { openRefMover } from './ref-mover.ts';
import { isObjectMissing, movedOn, publishError } from './refusals.ts';
import { openSwitchNotes } from './switch-note.ts';

/** As many files as a write, and undoing it, have open at once, and some more. */
const FILES = 24;

/** The publisher of a work tree, which can be caught between two of its steps. */
export interface CheckoutPublisher extends Publisher {
  /**
   * Undoes what an earlier process, or a failed write, left half done in the work tree. Resolves to null where there
   * was nothing. Rejects as `conflict` while another process is at it, and where a living process holds a lock.
   */
  recover(): Promise<Undone | null>;
}

/**
 * Publishes into the branch of a repository on this machine. Where the branch is checked out, index and work
 * tree follow: only the paths of the commits are touched, and git refuses where one of them has uncommitted
 * work. `onUndone` is told when a write begins with what an earlier one left half done.
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
  const below = createBaseOnDisk(repository);

  const attempt: Publisher['publish'] = async (base, drafts, onMade) => {
    if (base.branch === null) {
      throw new HoldfastError('conflict', 'HEAD is detached; check out a branch for writes to go to');
    }
    const branch = refName(base.branch);
    const paths = drafts.flatMap(({ edits }) => edits.map(({ path }) => path));
    try {
      requireDescriptors();
      const undone = await recoverNoted(checkout, notes);
      if (undone !== null) onUndone(undone);
      refs.prepare();
      const [commits, { quiet, ...ready }] = await allOver(
        writer.write(base.revision, drafts),
        readyToMove(checkout, branch, base.revision, drafts),
        below.sync(base.revision),
      );
      faults.pass('commit-written');
      onMade?.(commits);
      const full = paths.map((path) => posix.join(prefix, path));
      const from = base.revision;
      await moveBranch(quiet, { notes, refs }, { branch, from, commits, paths: full, ...ready });
      below.know(commits.at(-1) as string);
      return commits;
    } catch (error) {
      const refusal = publishError(error, paths, prefix);
      // What somebody committed meanwhile looks like uncommitted work to a tree that was made before.
      const isOvertaken = refusal.kind === 'conflict' && (await hasMoved(repository, branch, base.revision));
      throw isOvertaken ? movedOn(error) : refusal;
    }
  };

  return {
    publish: (...asked) => maintenance.adding(() => againWithout(writer, () => attempt(...asked))),
    recover: () =>
      recoverNoted(checkout, notes).catch((error) => {
        throw publishError(error, [], prefix);
      }),
    close: async () => {
      await Promise.all([writer.close(), refs.close(), checkout.launcher.close()]);
    },
  };
}

/** Where they run out in the middle, what was begun cannot be undone before there are some again. */
function requireDescriptors(): void {
  const trouble = missingDescriptors(FILES);
  if (trouble === null) return;
  throw new HoldfastError('unavailable', `git could not publish the commit: ${trouble}`);
}

/** `Promise.all` that settles once all have settled: a failure must not leave the others at work. */
async function allOver<T extends readonly unknown[]>(
  ...all: { [Key in keyof T]: Promise<T[Key]> }
): Promise<T> {
  await Promise.allSettled(all);
  return (await Promise.all(all)) as unknown as T;
}

/** What the move needs to know, and to have started, before it begins. Rejects as `refuseCheckedOutElsewhere` does. */
async function readyToMove(
  checkout: Checkout,
  branch: string,
  base: string | null,
  drafts: readonly CommitDraft[],
): Promise<{ quiet: Checkout } & Pick<Move, 'isCheckedOut' | 'written'>> {
  const repository = await withoutPrograms(checkout.repository);
  const quiet = { ...checkout, repository };
  prepareIndex(quiet);
  const isCheckedOut = (await currentBranch(repository)) === branch;
  if (!isCheckedOut)
    await refuseCheckedOutElsewhere(repository, branch).catch(unlessHere(repository, branch));
  const edits = isCheckedOut ? lastEdits(drafts) : [];
  return { quiet, isCheckedOut, written: await writtenFiles(quiet, base, edits) };
}

/** A person who switches to the branch just now holds it in this very work tree: the write is made again. */
function unlessHere(repository: Repository, branch: string): (error: unknown) => Promise<never> {
  return async (error) => {
    throw (await currentBranch(repository)) === branch ? movedOn(error) : error;
  };
}

/** `fast-import` relies on objects that it has met, and a `git gc` may have dropped one; a new one writes it again. */
async function againWithout<T>(writer: CommitWriter, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isObjectMissing((error as Error).cause)) throw error;
    await writer.close();
    return work();
  }
}

async function hasMoved(repository: Repository, branch: string, base: string | null): Promise<boolean> {
  const tip = await tipOf(repository, branch).catch(() => base);
  return tip !== base;
}

/** What all drafts together leave in each file. */
function lastEdits(drafts: readonly CommitDraft[]): FileEdit[] {
  return [...new Map(drafts.flatMap(({ edits }) => edits).map((edit) => [edit.path, edit])).values()];
}
