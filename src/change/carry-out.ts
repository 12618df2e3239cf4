import { HoldfastError, kindOf } from '../errors.ts';
import { type Head, RepositoryConflict } from '../source/source.ts';
import type { ObjectReads } from '../store/store.ts';
import { answer, confirm, type DraftedWrite } from './confirm.ts';
import { type DraftOutcome, draftAll } from './draft-batch.ts';
import { writeRefusal } from './preconditions.ts';
import { settleFor } from './settle.ts';
import type { QueuedWrite, WriterDependencies } from './write.ts';

/** How often a write is tried when the branch moves meanwhile. */
const MAX_ATTEMPTS = 5;

/** Drafts, publishes and confirms a batch of writes, and answers each caller. Never rejects. */
export async function carryOut(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<void> {
  let waiting = batch;
  try {
    for (let attempt = 1; waiting.length > 0 && attempt <= MAX_ATTEMPTS; attempt++) {
      waiting = await tryOnce(waiting, dependencies);
    }
    if (waiting.length === 0) return;
    const message = `the branch moved ${MAX_ATTEMPTS} times during this write; try again`;
    rejectAll(waiting, new HoldfastError('conflict', message));
  } catch (error) {
    rejectAll(waiting, error);
  }
}

function rejectAll(requests: readonly QueuedWrite[], error: unknown): void {
  for (const { reject } of requests) reject(error);
}

/** One attempt on the present head. Resolves to the requests that have to be tried again. */
async function tryOnce(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<QueuedWrite[]> {
  const base = await settleFor(batch, dependencies);
  if (base === null) return [];
  // A write that fixes a file decides whether the next one may be made.
  if (base.isRefused && batch.length > 1) return oneByOne(batch, dependencies);
  const outcomes = await draftOn(base.head, batch, dependencies);
  if (outcomes === null) return batch;
  const drafted: DraftedWrite[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const request = batch[index] as QueuedWrite;
    if ('error' in outcome) request.reject(outcome.error);
    else if (outcome.draft === null) await answer(request, null, dependencies.store);
    else drafted.push({ request, draft: outcome.draft });
  }
  if (drafted.length === 0) return [];
  const left = await rejectOvertaken(drafted, dependencies.store);
  // Those that are left were drafted on top of what was just rejected.
  if (left.length < drafted.length) return left;
  return publish(base.head, drafted, dependencies);
}

/**
 * Drafts on this head; null where a pass read another one meanwhile, also if a later pass took that back: the drafts
 * are void.
 */
async function draftOn(
  { revision }: Head,
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<DraftOutcome[] | null> {
  const { passes } = dependencies.reconciler;
  const reading = passes.reading();
  const outcomes = await draftAll(batch, dependencies);
  return reading?.revision === revision && passes.reading() === reading ? outcomes : null;
}

async function oneByOne(
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const again: QueuedWrite[] = [];
  for (const request of batch) again.push(...(await tryOnce([request], dependencies)));
  return again;
}

/**
 * Rejects the writes whose `If-Match` held when they were drafted and does not any more: a restart raises an id without a
 * commit. Resolves to the other ones.
 */
async function rejectOvertaken(drafted: readonly DraftedWrite[], store: ObjectReads): Promise<QueuedWrite[]> {
  const left: QueuedWrite[] = [];
  for (const { request } of drafted) {
    const refusal = await writeRefusal(request, store).catch((error: unknown) => error);
    if (refusal === null) left.push(request);
    else request.reject(refusal);
  }
  return left;
}

/** Publishes the drafts and confirms them. Resolves to the requests that have to be tried again. */
async function publish(
  base: Head,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const { publisher, reconciler } = dependencies;
  const commits = drafted.map(({ draft }) => draft.commit);
  const publishing = publisher.publish(base, commits);
  if (base.revision === null) reconciler.passes.began(rootOf(publishing));
  let revisions: string[];
  try {
    revisions = await publishing;
  } catch (error) {
    return publishRefused(error, drafted, dependencies);
  }
  await confirm(drafted, revisions, dependencies);
  return [];
}

/** Throws what is in the way of every write; otherwise as `publish`. */
async function publishRefused(
  error: unknown,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const requests = drafted.map(({ request }) => request);
  if (kindOf(error) === 'moved-on') return requests;
  // The status is to show this, too. And where it is not known whether the commits arrived, a pass finds out.
  if (kindOf(error) === 'unavailable') void dependencies.reconciler.look();
  // All that wait would meet it, each for as long as a lock is waited for.
  if (error instanceof RepositoryConflict) throw error;
  // What is wrong with one of several drafts must not keep the others back.
  if (kindOf(error) === 'conflict' && requests.length > 1) return oneByOne(requests, dependencies);
  for (const [index, { reject }] of requests.entries()) reject(ownFailure(error, index));
  return [];
}

/**
 * The first commit of a branch without one, for the reconciler, which can see it before the publisher is done; null if
 * none was made. One of which it is not known whether it arrived counts as made.
 */
function rootOf(publishing: Promise<readonly string[]>): Promise<string | null> {
  return publishing.then(
    ([first]) => first ?? null,
    (error: unknown) => commitsIn(error)?.[0] ?? null,
  );
}

/** If it is not known whether the commits of a batch were published, each caller learns of its own one. */
function ownFailure(error: unknown, index: number): unknown {
  const commits = commitsIn(error);
  if (commits === undefined) return error;
  const { kind, message } = error as HoldfastError;
  return new HoldfastError(kind, message, { revision: commits[index], applied: false }, error);
}

/** The commits of which it is not known whether they were published; undefined where nothing was. */
function commitsIn(error: unknown): readonly string[] | undefined {
  return error instanceof HoldfastError ? (error.details as { commits?: string[] }).commits : undefined;
}
