import type { Exclusive } from '../../../async/exclusive.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import type { CommitDraft, Head, Publisher, Reader } from '../../source.ts';
import { trackingRef } from '../process/commands.ts';
import { withTrouble } from '../process/disk-trouble.ts';
import { GitFailure } from '../process/run.ts';
import type { Maintenance } from '../repository/maintenance.ts';
import type { CommitWriter } from '../write/commit-writer.ts';
import type { RefMover } from '../write/ref-mover.ts';
import type { Origin } from './origin.ts';
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
  exclusive: Exclusive;
  /** Brings the mirror to where origin is, within the usual time. */
  fetch(): Promise<void>;
  /** Milliseconds that a push waits for its turn. */
  patience: number;
  maintenance: Maintenance;
  faults: Faults;
}

/** Publishes into the branch of a repository elsewhere: commits are made in the mirror, and one push brings them there. */
export function createPushPublisher(parts: PushPublisherParts): Publisher {
  const { writer, refs, exclusive, maintenance, faults, patience } = parts;

  const publish: Publisher['publish'] = async (base, drafts, onMade) => {
    const commits = await makeCommits(writer, base, drafts);
    faults.pass('commit-written');
    onMade?.(commits);
    refs.prepare();
    await exclusive(() => pushCommits(parts, base.revision, commits), patience);
    void maintenance.run();
    return commits;
  };

  return {
    publish,
    close: async () => {
      await Promise.all([writer.close(), refs.close()]);
    },
  };
}

async function makeCommits(
  writer: CommitWriter,
  base: Head,
  drafts: readonly CommitDraft[],
): Promise<string[]> {
  try {
    return await writer.write(base.revision, drafts);
  } catch (error) {
    if (!(error instanceof GitFailure)) throw error;
    const message = withTrouble('git could not make the commit', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}

async function pushCommits(parts: PushPublisherParts, from: string | null, commits: string[]): Promise<void> {
  const { branch, origin, fetch } = parts;
  const tip = commits.at(-1) as string;
  try {
    const outcome = await origin.push(branch, from, tip);
    if (outcome === 'done') {
      parts.faults.pass('branch-moved');
      await advance(parts, from, commits);
      return;
    }
  } catch (error) {
    if (!(error instanceof OriginUnavailable) || !error.isSent) throw error;
    await requireArrived(parts, commits, error);
    return;
  }
  await fetch();
  throw new HoldfastError('moved-on', 'the branch moved meanwhile');
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
    const message = 'the commit is published, but the mirror could not follow';
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
  const message = `${cause.message}; the change may arrive there all the same`;
  throw new HoldfastError('unavailable', message, { commits }, cause);
}
