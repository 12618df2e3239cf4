import { dirname } from 'node:path';
import { HoldfastError } from '../../errors.ts';
import type { CommitDraft, FileEdit, Head, Publisher } from '../source.ts';
import { commands, refName } from './commands.ts';
import { openCommitWriter } from './commit-writer.ts';
import type { ObjectReader } from './objects.ts';
import { currentBranch, type Repository } from './repository.ts';
import { GitFailure, runGit } from './run.ts';
import { syncFolder } from './sync.ts';
import {
  dirtyFiles,
  isLocked,
  refuseCheckedOutElsewhere,
  refuseDirtyFiles,
  switchTree,
  whileLocked,
} from './work-tree.ts';

const MOVED = /cannot lock ref .*: (is at|reference already exists|unable to resolve)/;
const UNMERGED = /resolve your current index first/;
const DIRTY = /not uptodate|would be overwritten|would be removed|Cannot merge/;

/**
 * Publishes into the branch of a repository on this machine. Where the branch is checked out, index and work
 * tree follow: only the paths of the commits are touched, and git refuses where one of them has uncommitted
 * work.
 */
export function createCheckoutPublisher(repository: Repository, objects: ObjectReader): Publisher {
  const { context, prefix } = repository;
  const writer = openCommitWriter(context, prefix);

  const publish = async (base: Head, drafts: readonly CommitDraft[]): Promise<string[]> => {
    if (base.branch === null) {
      throw new HoldfastError('conflict', 'HEAD is detached; check out a branch, then writes go there');
    }
    const branch = refName(base.branch);
    const paths = drafts.flatMap(({ edits }) => edits.map(({ path }) => path));
    try {
      const commits = await writer.write(base.revision, drafts);
      const isCheckedOut = (await currentBranch(repository)) === branch;
      if (isCheckedOut)
        await refuseDirtyFiles(repository, objects, base.revision ?? repository.emptyTree, lastEdits(drafts));
      else await refuseCheckedOutElsewhere(repository, branch);
      await follow(repository, branch, base.revision, commits.at(-1) as string, isCheckedOut);
      return commits;
    } catch (error) {
      throw publishError(error, paths);
    }
  };

  return { publish, close: () => writer.close() };
}

/** What all drafts together leave in each file. */
function lastEdits(drafts: readonly CommitDraft[]): FileEdit[] {
  return [...new Map(drafts.flatMap(({ edits }) => edits).map((edit) => [edit.path, edit])).values()];
}

async function follow(
  repository: Repository,
  branch: string,
  from: string | null,
  to: string,
  isCheckedOut: boolean,
): Promise<void> {
  const before = from ?? repository.emptyTree;
  if (isCheckedOut) await switchTree(repository, before, to);
  try {
    await moveBranch(repository, branch, from, to);
  } catch (error) {
    if (isCheckedOut) await retreat(repository, branch, to);
    throw error;
  }
  await syncFolder(`${repository.commonFolder}/${dirname(branch)}`);
}

/**
 * Takes index and work tree from a commit that was not published to where the branch is now. That can be
 * further than where it was: whoever moved it may even have committed what was staged here for a moment.
 */
async function retreat(repository: Repository, branch: string, from: string): Promise<void> {
  const tip = await runGit(repository.context, commands.branchTip(branch)).catch(() => '');
  await switchTree(repository, from, tip.trim() || repository.emptyTree);
}

async function moveBranch(
  { context, emptyTree }: Repository,
  branch: string,
  from: string | null,
  to: string,
): Promise<void> {
  const expected = from ?? '0'.repeat(emptyTree.length);
  await whileLocked(() => runGit(context, commands.updateRefs(), `update ${branch}\0${to}\0${expected}\0`));
}

function publishError(error: unknown, paths: string[]): HoldfastError {
  if (error instanceof HoldfastError) return error;
  const text = error instanceof GitFailure ? error.stderr : String(error);
  if (MOVED.test(text)) return new HoldfastError('moved-on', 'the branch moved meanwhile', {}, error);
  if (DIRTY.test(text)) {
    return dirtyFiles(paths, error);
  }
  if (UNMERGED.test(text)) {
    const message = 'a merge in the checkout is not finished; finish it, or abort it';
    return new HoldfastError('conflict', message, {}, error);
  }
  if (isLocked(error)) {
    const message = 'another git process holds a lock of the repository; end it, or remove the lock it left';
    return new HoldfastError('conflict', message, {}, error);
  }
  return new HoldfastError('unavailable', 'git could not publish the commit', {}, error);
}
