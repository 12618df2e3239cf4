import { isDeepStrictEqual } from 'node:util';
import { printable } from '../plan/printable.ts';
import type { RevisionReader } from '../source/git/read/revisions.ts';
import type { CommandIo } from './io.ts';

/** How much of a commit's id is shown. */
const SHORT_ID = 12;

/**
 * Warns where the history of a revision has changes of the folder that the history of `HEAD` lacks. A plan against it
 * shows them as undone, and a reader of a branch's plan would take them for what the branch changes.
 */
export async function warnOfDivergence(
  revisions: RevisionReader,
  revision: string,
  io: CommandIo,
): Promise<void> {
  const head = await revisions.entriesAt('HEAD');
  if (head === null) return;
  const parted = await revisions.commonAncestor(revision, 'HEAD');
  const common = parted === null ? [] : await revisions.entriesAt(parted);
  if (parted !== null && isDeepStrictEqual(common, await revisions.entriesAt(revision))) return;
  const name = printable(revision);
  io.complain(
    `holdfast: warning: ${parted === null ? unrelated(name, revisions.isShallow) : behind(name, parted)}\n`,
  );
}

function behind(revision: string, parted: string): string {
  return (
    `${revision} has changes that HEAD lacks; the plan shows them as undone. For what this branch alone changes, compare with the ` +
    `commit where it began: --against ${parted.slice(0, SHORT_ID)} (git merge-base ${revision} HEAD)`
  );
}

function unrelated(revision: string, isShallow: boolean): string {
  const remedy = isShallow
    ? 'this clone is shallow: fetch the whole history (git fetch --unshallow, or fetch-depth: 0)'
    : 'is it the right one?';
  return `${revision} and HEAD have no commit in common, so the plan may show the work of others as undone; ${remedy}`;
}
