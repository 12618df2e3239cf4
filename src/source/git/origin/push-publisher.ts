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
import { withTrouble } from '../process/disk-trouble.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import type { CommitWriter } from '../write/commit-writer.ts';
import type { RefMover } from '../write/ref-mover.ts';
import type { Origin, PushOutcome } from './origin.ts';
import { OriginUnavailable } from './origin-errors.ts';

/** What publishing at origin needs. */
export interface PushPublisherParts {
  /** Full name of the branch. */
  branch: string;
  origin: Origin;
  writer: CommitWriter;
  reader: Reader;
  refs: RefMover;
  /** Fetches and pushes take turns: a fetch that began before a push would bring back where the branch was. */
  turns: Queue;
  /** Fetches into the mirror, within the usual time. */
  fetch(): Promise<void>;
  /** Milliseconds that a push waits for its turn. */
  patience: number;
  maintenance: Maintenance;
  faults: Faults;
}

/**
 * Publishes into the branch of a repository elsewhere: commits are made in the mirror, and one push brings them there.
 */
export function createPushPublisher(parts: PushPublisherParts): Publisher {
  const { writer, refs, turns, maintenance, faults, patience } = parts;

  const publish: Publisher['publish'] = async (base, drafts, onMade) => {
    const commits = await makeCommits(writer, base, drafts);
    faults.pass('commit-written');
    onMade?.(commits);
    refs.prepare();
    await turns.runWithin(patience, beingRead, () => pushCommits(parts, base.revision, commits));
    return commits;
  };

  return {
    publish: (...asked) => maintenance.adding(() => publish(...asked)),
    close: async () => {
      await Promise.all([writer.close(), refs.close()]);
    },
  };
}

function beingRead(): HoldfastError {
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
    const message = withTrouble('git could not make the commit', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

/** Rejects as `moved-on` where the branch is elsewhere, as `conflict` where origin leaves it where it is. */
async function pushCommits(parts: PushPublisherParts, from: string | null, commits: string[]): Promise<void> {
  const first = await pushOnce(parts, from, commits);
  if (first === null) return;
  await requireUnmoved(parts, from);
  // A push that came to nothing, and was in the way of this one, is gone by now.
  const second = await pushOnce(parts, from, commits);
  if (second === null) return;
  await requireUnmoved(parts, from);
  throw new RepositoryConflict(second.kind === 'stale' ? HIDDEN : `${NOT_MOVED}: ${second.said}`);
}

const HIDDEN =
  'origin hides the branch from pushes; make it show refs/heads (transfer.hideRefs, receive.hideRefs)';
const NOT_MOVED = 'origin does not update the branch, although nobody else has';

/** Resolves to null once the commits are at origin, and otherwise to why they are not. */
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
  await advance(parts, from, commits);
  return null;
}

async function requireUnmoved({ fetch, reader }: PushPublisherParts, from: string | null): Promise<void> {
  await fetch();
  const { revision } = await reader.head();
  if (revision !== from) throw new HoldfastError('moved-on', 'the branch has moved in the meantime');
}

/**
 * What was pushed is where the branch is now: nobody has to fetch to know it. The commits are at origin: whatever
 * hinders this must not look as if nothing had happened, nor as if they were applied.
 */
async function advance(
  { refs, branch, fetch }: PushPublisherParts,
  from: string | null,
  commits: string[],
): Promise<void> {
  try {
    // After a fetch that failed, the next one clears away what may have been in its way.
    await refs
      .move(trackingRef(branch), from, commits.at(-1) as string)
      .catch(fetch)
      .catch(fetch);
  } catch (error) {
    const message = 'the commit is published, but the mirror could not be updated';
    throw new HoldfastError('unavailable', message, { commits }, error);
  }
}

/**
 * Resolves where commits whose push was cut off are at origin. Where they are not, they may still come to be: origin
 * can take its time over what it was sent, also after the line was cut.
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
