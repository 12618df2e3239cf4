import { HoldfastError, knownError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import {
  type CommitDraft,
  type Head,
  type Publisher,
  type Reader,
  RepositoryConflict,
} from '../../source.ts';
import { OriginUnavailable } from '../origin/errors.ts';
import type { PushOutcome } from '../origin/origin.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { GitFailure } from '../process/run.ts';
import type { CommitWriter, Written } from './commit-writer.ts';
import type { Staging } from './staging.ts';

/** Commits to push, of which each has the one before it as its parent. */
interface Batch {
  base: Head;
  drafts: readonly CommitDraft[];
  /** The last commit. */
  tip: string;
  /** The ids of all objects of the commits that are new. */
  objects: ReadonlySet<string>;
}

/** What `createPublisher` needs. */
export interface PublisherParts {
  staging: Staging;
  /** Reads the branch at origin, as of the last `fetch`. */
  reader: Pick<Reader, 'head' | 'isAncestor'>;
  /** Runs a push when it is its turn. */
  inTurn(push: () => Promise<void>): Promise<void>;
  /** As `Origin.push`. */
  push(batch: Batch): Promise<PushOutcome>;
  /** Is called after each push; the commits are published even if it rejects. */
  onPushed(batch: Batch): Promise<void>;
  /** What `onPushed` brings up to date, for users. */
  follower: string;
  /** Brings the reader up to date with origin. */
  fetch(): Promise<void>;
  /** What is done around each attempt to publish. */
  around?(publish: Publisher['publish']): Publisher['publish'];
  faults: Faults;
}

/** Creates a publisher that makes commits in the staging repository and brings all of them to origin with one push. */
export function createPublisher(parts: PublisherParts): Publisher {
  const { staging, faults, inTurn, around = (publish) => publish } = parts;
  const attempt = around(async (base, drafts) => {
    const { commits, objects } = await makeCommits(staging.writer, base, drafts);
    faults.pass('commit-written');
    const batch = { base, drafts, tip: commits.at(-1) as string, objects };
    await inTurn(() => pushCommits(parts, batch, commits));
    return commits;
  });
  return {
    publish: (base, drafts) =>
      staging.use(base.revision, () =>
        attempt(base, drafts).catch(async (error: unknown) => {
          // A running `fast-import` relies on objects that it has seen in the lender, and `git gc` may drop them.
          const known = knownError(error);
          const isPublished = known?.kind === 'unavailable' && known.details.commits !== undefined;
          if (isPublished || !isObjectMissing((error as Error).cause)) throw error;
          await staging.renew();
          return attempt(base, drafts);
        }),
      ),
    close: staging.close,
  };
}

/** git's messages for a missing object, or for a missing pack that contained it. */
const MISSING =
  /unable to read (sha1 file|tree|[0-9a-f]{40})|failed to unpack tree object|missing (blob|tree)|bad object|cannot store pack file|unable to write file .*\.pack: No such file/;

function isObjectMissing(error: unknown): boolean {
  return error instanceof GitFailure && MISSING.test(error.stderr);
}

async function makeCommits(
  writer: CommitWriter,
  base: Head,
  drafts: readonly CommitDraft[],
): Promise<Written> {
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
async function pushCommits(parts: PublisherParts, batch: Batch, commits: string[]): Promise<void> {
  const first = await pushOnce(parts, batch, commits);
  if (first === null) return;
  await requireUnmoved(parts, batch);
  // If another push was in the way and then failed, it is over by now.
  const second = await pushOnce(parts, batch, commits);
  if (second === null) return;
  await requireUnmoved(parts, batch);
  throw new RepositoryConflict(second.kind === 'stale' ? HIDDEN : `${NOT_MOVED}: ${second.reason}`);
}

const HIDDEN =
  'origin hides the branch from pushes; make it show refs/heads (transfer.hideRefs, receive.hideRefs)';
const NOT_MOVED = 'origin does not update the branch, although nobody else has';

/** Resolves to null if the commits are at origin, otherwise to why they are not. */
async function pushOnce(parts: PublisherParts, batch: Batch, commits: string[]): Promise<PushOutcome | null> {
  let outcome: PushOutcome;
  try {
    outcome = await parts.push(batch);
  } catch (error) {
    if (!(error instanceof OriginUnavailable) || !error.isSent) throw error;
    await requireArrived(parts, commits, error);
    return null;
  }
  if (outcome.kind !== 'done') return outcome;
  parts.faults.pass('branch-moved');
  await afterPush(parts, batch, commits);
  parts.faults.pass('publish-done');
  return null;
}

async function requireUnmoved({ fetch, reader }: PublisherParts, { base }: Batch): Promise<void> {
  await fetch();
  const { revision } = await reader.head();
  if (revision !== base.revision) throw new HoldfastError('moved-on', 'the branch has moved in the meantime');
}

/** If anything fails after the push, rejects with the commits in the details: they are published but not applied here. */
async function afterPush(parts: PublisherParts, batch: Batch, commits: string[]): Promise<void> {
  try {
    await parts.onPushed(batch);
  } catch (error) {
    const sentence = `the commit is published, but ${parts.follower} could not be updated`;
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
  { fetch, reader }: PublisherParts,
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
