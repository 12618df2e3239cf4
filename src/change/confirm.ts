import { HoldfastError, messageOf } from '../errors.ts';
import type { Faults } from '../faults.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Reader } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { answer } from './answer.ts';
import { passWithin } from './patience.ts';
import type { DraftedWrite } from './queued-write.ts';

/** What it takes to know that commits are applied. */
interface ConfirmParts {
  reconciler: Pick<Reconciler, 'reach'>;
  reader: Reader;
  store: Store;
  faults: Faults;
  /** Milliseconds. */
  patience: number;
}

/**
 * The commits are published: the same road that a person's push takes brings them into the store. A pass on a head that
 * does not have them has applied something else: somebody took them back, or switched to another branch.
 */
export async function confirm(
  drafted: DraftedWrite[],
  revisions: string[],
  { reconciler, reader, store, faults, patience }: ConfirmParts,
): Promise<void> {
  const outcome = await passWithin(patience, reconciler.reach(revisions.at(-1) as string));
  faults.pass('write-done');
  const confirmOne = async ({ request }: DraftedWrite, index: number): Promise<void> => {
    const revision = revisions[index] as string;
    const failure = outcome.ok
      ? await lackOf(revision, outcome.report.head.revision, revisions, reader)
      : outcome.error;
    if (failure === null) await answer(request, revision, store);
    else request.reject(notApplied(revision, failure));
  };
  await Promise.all(drafted.map(confirmOne));
}

function notApplied(revision: string, failure: unknown): HoldfastError {
  const message = `the commit is published, but not applied yet: ${messageOf(failure)}`;
  // At a head that STRICT refuses: what is left to be mended.
  const problems = failure instanceof HoldfastError ? failure.details['problems'] : undefined;
  const details = { revision, applied: false, ...(problems === undefined ? {} : { problems }) };
  return new HoldfastError('unavailable', message, details, failure);
}

/** Why a commit of ours is not in what a pass has applied; null where it is. */
async function lackOf(
  revision: string,
  head: string | null,
  revisions: readonly string[],
  reader: Reader,
): Promise<unknown> {
  if (head === revisions.at(-1)) return null;
  try {
    if (head !== null && (await reader.isAncestor(revision, head))) return null;
    return new HoldfastError('unavailable', 'the head does not have it now; look at the branch');
  } catch (error) {
    return error;
  }
}
