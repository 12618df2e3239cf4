import { HoldfastError } from '../../errors.ts';
import type { Reconciler } from '../../reconcile/reconciler.ts';
import type { Head } from '../../source/source.ts';
import { existenceErrors, ifMatchError } from '../preconditions.ts';
import { passWithin, withinLimit } from '../wait-limit.ts';
import type { QueuedWrite, WriteRequest, WriterDependencies } from '../write.ts';

/**
 * The head that writes are drafted on. `isRefused`: STRICT refuses this head, and the store is at an earlier revision.
 */
export interface Base {
  head: Head;
  isRefused: boolean;
}

/**
 * Brings the store to the head, and resolves to it. If that fails, rejects every write of the batch, and resolves to
 * null.
 */
export async function settleFor(
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<Base | null> {
  try {
    return await settle(dependencies);
  } catch (error) {
    for (const request of batch) request.reject((await requestRefusal(request, dependencies)) ?? error);
    return null;
  }
}

/**
 * Brings the store to the head, so that a write sees every earlier write and push. A head that STRICT refuses because
 * of its files is also a base, since writes can fix the files. Pings the store, because a pass that finds nothing new
 * does not notice when the store is down: then no commit must be made, as it could not be applied.
 */
export async function settle({ reconciler, store, waitLimit }: WriterDependencies): Promise<Base> {
  const outcome = await passWithin(waitLimit, reconciler.reconcile());
  await store.ping();
  if (outcome.ok) return { head: outcome.report.head, isRefused: false };
  const { error, head } = outcome;
  if (error.kind !== 'refused') throw new HoldfastError('unavailable', error.message, {}, error);
  if (head && error.details.problems !== undefined) return { head, isRefused: true };
  throw new HoldfastError('conflict', error.message, {}, error);
}

/**
 * Brings the store to the head, and calls `take` while no pass runs: all that it reads is of that head, or of one that a
 * pass has read since.
 */
export async function takeSettled<T>(
  dependencies: WriterDependencies,
  take: (revision: string | null, passes: Reconciler['passes']) => T,
): Promise<T> {
  const { reconciler, waitLimit } = dependencies;
  const { passes } = reconciler;
  await settle(dependencies);
  return withinLimit(
    waitLimit,
    reconciler.atRest(() => take(passes.reading()?.revision ?? null, passes)),
  );
}

/**
 * Resolves to the revision that was read last; waits for the pass that reads the first one. Rejects as `unavailable` if
 * there is none.
 */
export async function revisionRead({
  reconciler: { passes, atRest },
  waitLimit,
}: Pick<WriterDependencies, 'reconciler' | 'waitLimit'>): Promise<string | null> {
  const reading = passes.reading() ?? (await withinLimit(waitLimit, atRest(passes.reading)));
  if (reading !== null) return reading.revision;
  throw new HoldfastError('unavailable', 'no revision of the branch was read yet');
}

/**
 * Resolves to the error of the request itself, which is reported before a failure of the repository or the store
 * (docs/contract.md, 5.6): the object does not exist, or a create names one that does, or the `If-Match` does not
 * hold. Null if there is no such error, or the store cannot be read.
 */
export async function requestRefusal(
  request: WriteRequest,
  dependencies: WriterDependencies,
): Promise<HoldfastError | null> {
  try {
    const refusal = await existenceErrors(dependencies, request.set);
    return refusal ?? (await ifMatchError(request, dependencies.store));
  } catch {
    return null;
  }
}
