import { HoldfastError } from '../errors.ts';
import type { Head } from '../source/source.ts';
import { passWithin } from './patience.ts';
import { existenceRefusal, writeRefusal } from './preconditions.ts';
import type { QueuedWrite, WriterDependencies } from './write.ts';

/** Where writes begin. `isRefused`: STRICT refuses this head, and the store is at an earlier revision. */
export interface Base {
  head: Head;
  isRefused: boolean;
}

/** Brings the store to the head. If that fails, rejects every write of the batch, and resolves to null. */
export async function settleFor(
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<Base | null> {
  try {
    return await settle(dependencies);
  } catch (error) {
    for (const request of batch) request.reject((await earlierRefusal(request, dependencies)) ?? error);
    return null;
  }
}

/**
 * Brings the store to the head, so that a write sees every earlier one and every push. A head that STRICT refuses for its
 * files is a base, too, since writes can fix the files. Rejects also while the store is down, which a pass that finds
 * nothing new does not notice, so that no commit is made which could not be applied.
 */
async function settle({ reconciler, store, patience }: WriterDependencies): Promise<Base> {
  const outcome = await passWithin(patience, reconciler.reconcile());
  await store.ping();
  if (outcome.ok) return { head: outcome.report.head, isRefused: false };
  const { error, head } = outcome;
  if (error.kind !== 'refused') throw new HoldfastError('unavailable', error.message, {}, error);
  if (head && 'problems' in error.details) return { head, isRefused: true };
  throw new HoldfastError('conflict', error.message, {}, error);
}

/**
 * The refusal of a write that comes before a failure of the repository or the store (docs/api.md has the order): for an
 * object that does not exist, or an `If-Match` that does not hold. Null if there is none, or it cannot be known.
 */
async function earlierRefusal(
  request: QueuedWrite,
  dependencies: WriterDependencies,
): Promise<HoldfastError | null> {
  const { write } = request;
  try {
    const refusal = await existenceRefusal(dependencies, write, write.op === 'create');
    return refusal ?? (await writeRefusal(request, dependencies.store));
  } catch {
    return null;
  }
}
