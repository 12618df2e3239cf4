import { HoldfastError, kindOf, knownError, messageOf } from '../../errors.ts';
import { type Head, RepositoryConflict } from '../../source/source.ts';
import type { ObjectReads } from '../../store/objects/port.ts';
import { ifMatchError } from '../preconditions.ts';
import { MAX_ATTEMPTS, type QueuedWrite, type WriterDependencies } from '../write.ts';
import { answer, confirm, type DraftedWrite } from './confirm.ts';
import { draftOn } from './draft-batch.ts';
import { settleFor } from './settle.ts';

/** Drafts, publishes and confirms a batch of writes, and answers each caller. Never rejects. */
export async function carryOut(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<void> {
  let remaining = batch;
  try {
    for (let attempt = 1; remaining.length > 0 && attempt <= MAX_ATTEMPTS; attempt++) {
      remaining = await tryOnce(remaining, dependencies);
    }
    if (remaining.length === 0) return;
    const message = `the branch moved ${MAX_ATTEMPTS} times during this write; try again`;
    rejectAll(remaining, new HoldfastError('conflict', message));
  } catch (error) {
    rejectAll(remaining, error);
  }
}

function rejectAll(requests: readonly QueuedWrite[], error: unknown): void {
  for (const { reject } of requests) reject(error);
}

/** Makes one attempt on the current head. Resolves to the requests that must be tried again. */
async function tryOnce(batch: QueuedWrite[], dependencies: WriterDependencies): Promise<QueuedWrite[]> {
  const base = await settleFor(batch, dependencies);
  if (base === null) return [];
  // Whether a write is allowed on a refused head depends on which files the writes before it fix.
  if (base.isRefused && batch.length > 1) return tryOneByOne(batch, dependencies);
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
  const accepted = await rejectOutdated(drafted, dependencies.store);
  // Drafts build on one another: without the rejected ones, the others must be drafted again.
  if (accepted.length < drafted.length) return accepted;
  return publish(base.head, drafted, dependencies);
}

async function tryOneByOne(
  batch: readonly QueuedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const retries: QueuedWrite[] = [];
  for (const request of batch) retries.push(...(await tryOnce([request], dependencies)));
  return retries;
}

/**
 * Rejects the writes whose `If-Match` held when they were drafted but no longer holds: a restart raises an id without a
 * commit. Resolves to the other requests.
 */
async function rejectOutdated(drafted: readonly DraftedWrite[], store: ObjectReads): Promise<QueuedWrite[]> {
  const accepted: QueuedWrite[] = [];
  for (const { request } of drafted) {
    const refusal = await ifMatchError(request, store).catch((error: unknown) => error);
    if (refusal === null) accepted.push(request);
    else request.reject(refusal);
  }
  return accepted;
}

/** Publishes the drafts and confirms them. Resolves to the requests that must be tried again. */
async function publish(
  base: Head,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const { publisher, reconciler } = dependencies;
  const commits = drafted.map(({ draft }) => draft.commit);
  const publishing = publisher.publish(base, commits);
  if (base.revision === null) reconciler.passes.addFirstCommit(rootOf(publishing));
  let revisions: string[];
  try {
    revisions = await publishing;
  } catch (error) {
    return handlePublishFailure(error, drafted, dependencies);
  }
  await confirm(drafted, revisions, dependencies);
  return [];
}

/**
 * Rejects or retries the writes of a failed publish, and resolves as `publish` does. Rethrows what blocks every write.
 */
async function handlePublishFailure(
  error: unknown,
  drafted: DraftedWrite[],
  dependencies: WriterDependencies,
): Promise<QueuedWrite[]> {
  const requests = drafted.map(({ request }) => request);
  if (kindOf(error) === 'moved-on') return requests;
  // A pass shows the failure in the status, and finds out whether commits of an unknown outcome have arrived.
  if (kindOf(error) === 'unavailable') void dependencies.reconciler.pollOrigin();
  // Tried one by one, each write of the batch would wait for the same lock and fail as well.
  if (error instanceof RepositoryConflict) throw error;
  // A conflict of one write must not block the others of the batch.
  if (kindOf(error) === 'conflict' && requests.length > 1) return tryOneByOne(requests, dependencies);
  for (const [index, { reject }] of requests.entries()) reject(withOwnCommit(error, index));
  return [];
}

/**
 * Resolves to the root commit that starts a new branch; null if none was made. A commit of an unknown outcome counts as
 * made. The reconciler needs it, because a pass can see the commit before the publisher is done.
 */
function rootOf(publishing: Promise<readonly string[]>): Promise<string | null> {
  return publishing.then(
    ([first]) => first ?? null,
    (error: unknown) => unconfirmedCommits(error)?.[0] ?? null,
  );
}

/** If it is unknown whether a batch was published, names the commit of this caller in place of all commits. */
function withOwnCommit(error: unknown, index: number): unknown {
  const commits = unconfirmedCommits(error);
  if (commits === undefined) return error;
  const revision = commits[index];
  return new HoldfastError(
    'unavailable',
    messageOf(error),
    { ...(revision !== undefined && { revision }), applied: false },
    error,
  );
}

/** Returns the commits of a publish whose outcome is unknown; undefined if nothing was published. */
function unconfirmedCommits(error: unknown): readonly string[] | undefined {
  const known = knownError(error);
  return known?.kind === 'unavailable' ? known.details.commits : undefined;
}
