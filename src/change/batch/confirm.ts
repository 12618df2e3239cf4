import { HoldfastError, knownError, messageOf } from '../../errors.ts';
import { keyOf } from '../../protocol/name.ts';
import type { Reader } from '../../source/source.ts';
import type { AtRevision, ObjectReads, StoredObject } from '../../store/objects/port.ts';
import type { Draft } from '../draft/draft.ts';
import { passWithin } from '../wait-limit.ts';
import { isRemoval, type QueuedWrite, type WriterDependencies } from '../write.ts';

/** A request and the commit that was drafted for it. */
export interface DraftedWrite {
  request: QueuedWrite;
  draft: Draft;
}

/**
 * Waits until a pass has applied the published commits of a batch, as it applies any push, and answers each caller. If
 * the applied head does not contain a commit, which was reset away or is on a branch that is no longer followed, its
 * caller gets an error.
 */
export async function confirm(
  drafted: DraftedWrite[],
  revisions: string[],
  { reconciler, reader, store, faults, waitLimit }: WriterDependencies,
): Promise<void> {
  const outcome = await passWithin(waitLimit, reconciler.passAt(revisions.at(-1) as string));
  faults.pass('write-done');
  const confirmOne = async ({ request }: DraftedWrite, index: number): Promise<void> => {
    const revision = revisions[index] as string;
    const failure = outcome.ok
      ? await whyNotApplied(revision, outcome.report.head.revision, revisions, reader)
      : outcome.error;
    if (failure === null) await answer(request, revision, store);
    else request.reject(notApplied(revision, failure));
  };
  await Promise.all(drafted.map(confirmOne));
}

/**
 * Answers the caller of a completed write with its objects as they are in the store now, so it must run before a later
 * write begins. `revision` is the applied commit; null if none was needed.
 */
export async function answer(
  { set, resolve, reject }: QueuedWrite,
  revision: string | null,
  store: ObjectReads,
): Promise<void> {
  const objects = new Map<string, AtRevision<StoredObject | null>>();
  let isLost = false;
  try {
    for (const write of set.changes) {
      const { kind, name } = write;
      const object = await store.object(kind, name);
      objects.set(keyOf(kind, name), object);
      isLost ||= object.value === null && !isRemoval(write);
    }
    if (revision === null || !isLost) return resolve({ revision, objects });
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
  // If STRICT refuses the head, the problems that remain.
  const known = knownError(failure);
  const problems = known?.kind === 'refused' ? known.details.problems : undefined;
  const details = { revision, applied: false, ...(problems === undefined ? {} : { problems }) };
  return new HoldfastError('unavailable', message, details, failure);
}

/**
 * Resolves to the error for a commit that `head`, which is applied, does not contain; null if it contains the commit.
 */
async function whyNotApplied(
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
