import { setImmediate } from 'node:timers/promises';
import type { AppDefaults } from '../desired/app.ts';
import { HoldfastError, kindOf } from '../errors.ts';
import type { Faults } from '../faults.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Head, Publisher, Reader } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { answer, storedObject } from './answer.ts';
import { confirm } from './confirm.ts';
import { draftAll, refusalOf } from './drafting.ts';
import { passWithin } from './patience.ts';
import type { DraftedWrite, QueuedWrite } from './queued-write.ts';
import { absent } from './refusals.ts';
import type { Write, WriteContext, Writer, Written } from './write.ts';

/** How many writes share one publish at the most. */
const MAX_BATCH = 64;
/** How often a write is made again on a head that moved meanwhile (decisions, "Writes through the API"). */
const MAX_ATTEMPTS = 5;

/** What a writer works with. */
export interface WriterDependencies {
  reconciler: Reconciler;
  reader: Reader;
  publisher: Publisher;
  store: Store;
  defaults: AppDefaults;
  strict: boolean;
  /** Unix milliseconds. */
  now(): number;
  faults: Faults;
  /** Milliseconds that a write waits for a pass. */
  patience: number;
}

/**
 * One queue for all writes. Writes that wait are taken together: one commit each, one publish for all. Each is made
 * on the head as it is applied, so that it sees every write and every push before it.
 */
export function createWriter(dependencies: WriterDependencies): Writer {
  const queue: QueuedWrite[] = [];
  let working: Promise<void> | null = null;
  let isClosed = false;

  const work = async (): Promise<void> => {
    while (queue.length > 0) {
      await waitForMore(queue);
      await carryOut(takeBatch(queue), dependencies);
    }
    working = null;
  };

  const write = <W extends Write>(wish: W, context: WriteContext): Promise<Written<W>> =>
    new Promise((resolve, reject) => {
      if (isClosed) return reject(new HoldfastError('unavailable', 'the manager is shutting down'));
      queue.push({ write: wish, context, resolve: resolve as QueuedWrite['resolve'], reject });
      working ??= work();
      return undefined;
    });

  const close = async (): Promise<void> => {
    isClosed = true;
    for (const { reject } of queue.splice(0))
      reject(new HoldfastError('unavailable', 'the manager is shutting down'));
    await working;
  };

  return { write, close };
}

/**
 * Writes that arrive together are published together: each publish costs about as much as fifty commits more in it. A
 * write alone waits for one turn of the event loop.
 */
async function waitForMore(queue: readonly QueuedWrite[]): Promise<void> {
  for (let seen = 0; seen < Math.min(queue.length, MAX_BATCH); ) {
    seen = queue.length;
    await setImmediate();
  }
}

/** The writes at the front of the queue that do not depend on each other's outcome. */
function takeBatch(queue: QueuedWrite[]): QueuedWrite[] {
  const names = new Set<string>();
  let size = 0;
  for (const { write } of queue) {
    const key = `${write.kind}/${write.name}`;
    // Deleting an app edits the files of groups, so it goes alone.
    const isAlone = write.kind === 'app' && write.op === 'delete';
    if (size === MAX_BATCH || names.has(key) || (isAlone && size > 0)) break;
    names.add(key);
    size += 1;
    if (isAlone) break;
  }
  return queue.splice(0, size);
}

async function carryOut(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<void> {
  let waiting = batch;
  for (let attempt = 1; waiting.length > 0; attempt++) {
    try {
      waiting = await tryOnce(waiting, dependencies);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
      return;
    }
    if (attempt === MAX_ATTEMPTS && waiting.length > 0) {
      const error = new HoldfastError(
        'conflict',
        `the branch moved ${MAX_ATTEMPTS} times while this was written`,
      );
      for (const { reject } of waiting) reject(error);
      return;
    }
  }
}

/** One try on the present head; resolves to the requests that have to be tried again. */
async function tryOnce(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<QueuedWrite[]> {
  const base = await settleFor(batch, dependencies);
  if (base === null) return [];
  // Each write that mends decides about the next one.
  if (base.isRefused && batch.length > 1) return oneByOne(batch, dependencies);
  const { head } = base;
  const { passes } = dependencies.reconciler;
  const outcomes = await draftAll(batch, { ...dependencies, passes });
  // A pass on a newer head began meanwhile: what was drafted saw files that the store may not have yet.
  if (passes.head()?.revision !== head.revision) return batch;
  const drafted: DraftedWrite[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const request = batch[index] as QueuedWrite;
    if ('error' in outcome) request.reject(outcome.error);
    else if (outcome.draft === null) await answer(request, null, dependencies.store);
    else drafted.push({ request, draft: outcome.draft });
  }
  if (drafted.length === 0) return [];
  const left = await rejectOvertaken(drafted, dependencies.store);
  // Those that are left were drafted on what the others would have changed.
  if (left.length < drafted.length) return left;
  return publish(head, drafted, dependencies);
}

/**
 * Rejects those whose `If-Match` held when they were drafted and does no longer: a restart raises an id without a commit.
 * Resolves to the others.
 */
async function rejectOvertaken(drafted: readonly DraftedWrite[], store: Store): Promise<QueuedWrite[]> {
  const left: QueuedWrite[] = [];
  for (const { request } of drafted) {
    const { write, context } = request;
    const refusal = await refusalOf(write, context, store).catch((error: unknown) => error);
    if (refusal === null) left.push(request);
    else request.reject(refusal);
  }
  return left;
}

async function oneByOne(
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const later: QueuedWrite[] = [];
  for (const request of batch) later.push(...(await tryOnce([request], dependencies)));
  return later;
}

/** Where writes begin. `isRefused`: STRICT refuses the head, and the store is where it was before. */
interface Base {
  head: Head;
  isRefused: boolean;
}

/** The head, once the store is at it; null where that fails, and every request was told. */
async function settleFor(
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

/** What is told before the state of the repository or of the store (decisions, "Everything else"); null for nothing. */
async function earlierRefusal(
  { write, context }: QueuedWrite,
  { reconciler, store }: WriterDependencies,
): Promise<unknown> {
  const { kind, name, op } = write;
  try {
    const stored = await storedObject(write, store);
    const isThere = stored.value !== null || reconciler.passes.desired.pathsOf(kind, name).length > 0;
    if (op !== 'create' && !isThere) return absent(kind, name);
    return await refusalOf(write, context, store);
  } catch {
    return null;
  }
}

/**
 * Brings the store to the head, so that the write sees what every earlier one and every push did. Rejects also when
 * the store is down, which a pass that finds nothing new does not notice: no commit is made that cannot be applied.
 * A head that is refused for its files is where they can be mended.
 */
async function settle({ reconciler, store, patience }: WriterDependencies): Promise<Base> {
  const outcome = await passWithin(patience, reconciler.reconcile());
  await store.ping();
  if (outcome.ok) return { head: outcome.report.head, isRefused: false };
  const { error, head } = outcome;
  if (error.kind !== 'stalled') throw new HoldfastError('unavailable', error.message, {}, error);
  if (head && 'problems' in error.details) return { head, isRefused: true };
  throw new HoldfastError('conflict', error.message, {}, error);
}

async function publish(
  base: Head,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  let revisions: string[];
  try {
    revisions = await dependencies.publisher.publish(
      base,
      drafted.map(({ draft }) => draft.commit),
    );
  } catch (error) {
    return publishRefused(error, drafted, dependencies);
  }
  await confirm(drafted, revisions, dependencies);
  return [];
}

/** What one draft is refused for must not keep the others back: they are tried one by one. */
async function publishRefused(
  error: unknown,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  if (kindOf(error) === 'moved-on') return drafted.map(({ request }) => request);
  // Status is to say so, too, and a commit of which nobody knows is to be found when it arrives.
  if (kindOf(error) === 'unavailable') void dependencies.reconciler.look();
  if (kindOf(error) !== 'conflict' || drafted.length === 1) {
    drafted.forEach(({ request }, index) => {
      request.reject(ownFailure(error, index));
    });
    return [];
  }
  return oneByOne(
    drafted.map(({ request }) => request),
    dependencies,
  );
}

/** Where nobody knows what was published, each caller learns of its own commit. */
function ownFailure(error: unknown, index: number): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const { commits } = error.details as { commits?: readonly string[] };
  if (commits === undefined) return error;
  const details = { revision: commits[index], applied: false };
  return new HoldfastError(error.kind, error.message, details, error);
}
