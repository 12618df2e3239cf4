import { isDeepStrictEqual } from 'node:util';
import type { RevisionReader } from '../../source/git/read/revisions.ts';
import { printable } from '../../text/printable.ts';
import type { CommandIo } from '../shell/io.ts';

/** How many digits of a commit's id are shown. */
const SHORT_ID = 12;

/**
 * Warns if the revision has changes to the folder that `HEAD` lacks. The plan then shows them as undone, and its reader
 * would take that for a change of the branch.
 */
export async function warnOfDivergence(
  revisions: RevisionReader,
  revision: string,
  io: CommandIo,
): Promise<void> {
  const head = await revisions.entriesAt('HEAD');
  if (head === null) return;
  const mergeBase = await revisions.commonAncestor(revision, 'HEAD');
  const entriesAtBase = mergeBase === null ? [] : await revisions.entriesAt(mergeBase);
  if (mergeBase !== null && isDeepStrictEqual(entriesAtBase, await revisions.entriesAt(revision))) return;
  const name = printable(revision);
  io.writeError(
    `holdfast: warning: ${mergeBase === null ? unrelated(name, revisions.isShallow) : behind(name, mergeBase)}\n`,
  );
}

function behind(revision: string, mergeBase: string): string {
  return (
    `${revision} has changes that HEAD lacks; the plan shows them as undone. For what this branch alone changes, compare with the ` +
    `commit where it began: --against ${mergeBase.slice(0, SHORT_ID)} (git merge-base ${revision} HEAD)`
  );
}

function unrelated(revision: string, isShallow: boolean): string {
  const remedy = isShallow
    ? 'this clone is shallow: fetch the whole history (git fetch --unshallow, or fetch-depth: 0)'
    : 'is it the right one?';
  return `${revision} and HEAD have no commit in common, so the plan may show the work of others as undone; ${remedy}`;
}
