import { HoldfastError, messageOf } from '../errors.ts';
import type { Reader } from '../source/source.ts';
import type { ObjectReads } from '../store/store.ts';
import { storedObject } from '../store/stored-object.ts';
import type { Draft } from './draft.ts';
import { passWithin } from './patience.ts';
import type { QueuedWrite, WriterDependencies } from './write.ts';

/** A request and the commit that is to carry it out. */
export interface DraftedWrite {
  request: QueuedWrite;
  draft: Draft;
}

/**
 * Waits until a pass has applied the published commits of a batch, as it would apply a person's push, and answers each
 * caller. A commit that the applied head does not contain was taken back, or the branch was switched meanwhile: its
 * caller learns that it is not applied.
 */
export async function confirm(
  drafted: DraftedWrite[],
  revisions: string[],
  { reconciler, reader, store, faults, patience }: WriterDependencies,
): Promise<void> {
  const outcome = await passWithin(patience, reconciler.reach(revisions.at(-1) as string));
  faults.pass('write-done');
  const confirmOne = async ({ request }: DraftedWrite, index: number): Promise<void> => {
    const revision = revisions[index] as string;
    const failure = outcome.ok
      ? await whyNotIn(revision, outcome.report.head.revision, revisions, reader)
      : outcome.error;
    if (failure === null) await answer(request, revision, store);
    else request.reject(notApplied(revision, failure));
  };
  await Promise.all(drafted.map(confirmOne));
}

/**
 * Answers the caller of a write that is done with the object as it is in the store now, so it must be called before a
 * later write begins. `revision` is the commit, which is applied by now; null if none was needed.
 */
export async function answer(
  { write, resolve, reject }: QueuedWrite,
  revision: string | null,
  store: ObjectReads,
): Promise<void> {
  try {
    const object = await storedObject(store, write.kind, write.name);
    const isThere = object.value !== null || write.op === 'delete';
    if (revision === null || isThere) return resolve({ revision, object });
    const message = 'the commit is applied, but a later commit has deleted the object';
    reject(new HoldfastError('conflict', message, { revision, applied: true }));
  } catch (error) {
    if (revision === null) return reject(error);
    const message = `the commit is applied, but the store could not be read: ${messageOf(error)}`;
    reject(new HoldfastError('unavailable', message, { revision, applied: true }, error));
  }
}

function notApplied(revision: string, failure: unknown): HoldfastError {
  const message = `the commit is published, but not applied yet: ${messageOf(failure)}`;
  // Where STRICT refuses the head: the problems that are left.
  const problems = failure instanceof HoldfastError ? failure.details['problems'] : undefined;
  const details = { revision, applied: false, ...(problems === undefined ? {} : { problems }) };
  return new HoldfastError('unavailable', message, details, failure);
}

/** Why a commit counts as not applied although a pass has applied `head`; null if `head` contains it. */
async function whyNotIn(
  revision: string,
  head: string | null,
  revisions: readonly string[],
  reader: Reader,
): Promise<unknown> {
  if (head === revisions.at(-1)) return null;
  try {
    if (head !== null && (await reader.isAncestor(revision, head))) return null;
    return new HoldfastError('unavailable', 'the branch no longer contains this commit');
  } catch (error) {
    return error;
  }
}
