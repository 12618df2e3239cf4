import type { Queue } from '../../../async/queue.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import {
  type CommitDraft,
  type Head,
  type Publisher,
  type Reader,
  RepositoryConflict,
} from '../../source.ts';
import { trackingRef } from '../process/commands.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import type { CommitWriter } from '../write/commit-writer.ts';
import type { RefMover } from '../write/ref-mover.ts';
import type { Origin, PushOutcome } from './origin.ts';
import { OriginUnavailable } from './origin-errors.ts';

/** What `createPushPublisher` needs. */
export interface PushPublisherParts {
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  writer: CommitWriter;
  reader: Reader;
  refs: RefMover;
  /** Fetches and pushes take turns: a fetch that began before a push would move the branch back in the mirror. */
  turns: Queue;
  /** See `MirrorState.fetch`. */
  fetch(): Promise<void>;
  /** Milliseconds that a push waits for its turn. */
  waitLimit: number;
  maintenance: Maintenance;
  faults: Faults;
}

/** Creates a publisher that makes commits in the mirror and brings all of them to origin with one push. */
export function createPushPublisher(parts: PushPublisherParts): Publisher {
  const { writer, refs, turns, maintenance, faults, waitLimit } = parts;

  const publish: Publisher['publish'] = async (base, drafts, onMade) => {
    const commits = await makeCommits(writer, base, drafts);
    faults.pass('commit-written');
    onMade?.(commits);
    refs.prepare();
    await turns.runWithin(waitLimit, fetchInProgress, () => pushCommits(parts, base.revision, commits));
    return commits;
  };

  return {
    publish: (...args) => maintenance.addingObjects(() => publish(...args)),
    close: async () => {
      await Promise.all([writer.close(), refs.close()]);
    },
  };
}

function fetchInProgress(): HoldfastError {
  return new HoldfastError('unavailable', 'a long fetch from origin is in progress; try again later');
}

async function makeCommits(
  writer: CommitWriter,
  base: Head,
  drafts: readonly CommitDraft[],
): Promise<string[]> {
  try {
    return await writer.write(base.revision, drafts);
  } catch (error) {
    if (error instanceof HoldfastError) throw error;
    const message = explainFailure('git could not make the commit', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/**
 * Rejects as `moved-on` if the branch has moved, as `conflict` if origin does not move it, as `unavailable` if origin
 * cannot be reached.
 */
async function pushCommits(parts: PushPublisherParts, from: string | null, commits: string[]): Promise<void> {
  const first = await pushOnce(parts, from, commits);
  if (first === null) return;
  await requireUnmoved(parts, from);
  // If another push was in the way and then failed, it is over by now.
  const second = await pushOnce(parts, from, commits);
  if (second === null) return;
  await requireUnmoved(parts, from);
  throw new RepositoryConflict(second.kind === 'stale' ? HIDDEN : `${NOT_MOVED}: ${second.reason}`);
}

const HIDDEN =
  'origin hides the branch from pushes; make it show refs/heads (transfer.hideRefs, receive.hideRefs)';
const NOT_MOVED = 'origin does not update the branch, although nobody else has';

/** Resolves to null if the commits are at origin, otherwise to why they are not. */
async function pushOnce(
  parts: PushPublisherParts,
  from: string | null,
  commits: string[],
): Promise<PushOutcome | null> {
  const { branch, origin } = parts;
  let outcome: PushOutcome;
  try {
    outcome = await origin.push(branch, from, commits.at(-1) as string);
  } catch (error) {
    if (!(error instanceof OriginUnavailable) || !error.isSent) throw error;
    await requireArrived(parts, commits, error);
    return null;
  }
  if (outcome.kind !== 'done') return outcome;
  parts.faults.pass('branch-moved');
  await advanceMirror(parts, from, commits);
  return null;
}

async function requireUnmoved({ fetch, reader }: PushPublisherParts, from: string | null): Promise<void> {
  await fetch();
  const { revision } = await reader.head();
  if (revision !== from) throw new HoldfastError('moved-on', 'the branch has moved in the meantime');
}

/**
 * Moves the branch in the mirror to the pushed commits, which saves a fetch. If that fails, rejects with the commits in
 * the details: they are at origin but not applied here.
 */
async function advanceMirror(
  { refs, branch, fetch }: PushPublisherParts,
  from: string | null,
  commits: string[],
): Promise<void> {
  try {
    // A second fetch, since it removes what a failed one may have left in the way.
    await refs
      .move(trackingRef(branch), from, commits.at(-1) as string)
      .catch(fetch)
      .catch(fetch);
  } catch (error) {
    const sentence = 'the commit is published, but the mirror could not be updated';
    const isExplained = error instanceof HoldfastError;
    const message = isExplained ? `${sentence}: ${error.message}` : explainFailure(sentence, error);
    throw new HoldfastError('unavailable', message, { commits }, error);
  }
}

/**
 * Resolves if commits whose push was cut off are at origin. Otherwise rejects with the commits in the details: origin can
 * still accept what it was sent, even after the connection has ended.
 */
async function requireArrived(
  { fetch, reader }: PushPublisherParts,
  commits: string[],
  cause: OriginUnavailable,
): Promise<void> {
  const tip = commits.at(-1) as string;
  const isThere = await fetch()
    .then(() => reader.head())
    .then(({ revision }) => revision !== null && reader.isAncestor(tip, revision))
    .catch(() => false);
  if (isThere) return;
  const message = `${cause.message}; the change may still reach origin`;
  throw new HoldfastError('unavailable', message, { commits }, cause);
}
