import { HoldfastError, messageOf } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import type { Head, Reader, Source } from '../../source.ts';
import { commands, refName, trackingRef } from '../commands.ts';
import { openCommitWriter } from '../commit-writer.ts';
import { createMaintenance } from '../maintenance.ts';
import { openObjects } from '../objects.ts';
import { createReader } from '../reader.ts';
import type { Repository } from '../repository.ts';
import { GitFailure, runGit } from '../run.ts';
import { createExclusive } from './exclusive.ts';
import { isUsable, type MirrorOptions, makeMirror, openMirror } from './mirror.ts';
import { createOrigin, type Origin, observed, type TransferLimits, type TransferObserver } from './origin.ts';
import { createOriginRecord } from './origin-record.ts';
import { createPushPublisher } from './push-publisher.ts';
import { createTransfers } from './transfer.ts';

/** How to follow a branch of a repository elsewhere. */
export interface RemoteOptions extends MirrorOptions {
  /** Short name of the branch. */
  branch: string;
  limits: TransferLimits;
  onTransfer: TransferObserver;
  faults: Faults;
  /** Told once that origin does not take the record of ids. */
  onRecordRefused(reason: string): void;
}

/** The git source of a repository elsewhere. */
export interface RemoteSource extends Source {
  repository: Repository;
  origin: NonNullable<Source['origin']>;
}

/**
 * Follows a branch of a repository elsewhere by a mirror: what is read is read there, what is written is pushed.
 * Origin need not be reachable for it to open; nothing is fetched yet. Rejects as `invalid` when the settings cannot
 * be used.
 */
export async function openRemote(options: RemoteOptions): Promise<RemoteSource> {
  const branch = refName(`refs/heads/${options.branch}`);
  const { repository, transfer } = await openMirror(options);
  const { context } = repository;
  const transfers = createTransfers(transfer);
  const origin = observed(createOrigin(transfers, branch, options.limits), options.onTransfer);
  const objects = openObjects(context);
  const inner = createReader(repository, objects, async () => trackingRef(branch));
  const writer = openCommitWriter(context, repository.prefix);
  const maintenance = createMaintenance(repository);
  const mirror = createMirrorState(options, repository, branch, origin, async () => {
    await Promise.all([inner.close(), writer.close()]);
  });
  const exclusive = createExclusive();
  const reader = mirrorReader(inner, branch, mirror);
  const fetch = async (): Promise<void> => {
    await mirror.fetch();
    void maintenance.run();
  };
  return {
    repository,
    reader,
    publisher: createPushPublisher({
      branch,
      origin,
      writer,
      reader,
      repository,
      exclusive,
      fetch,
      maintenance,
      faults: options.faults,
    }),
    watch: async () => ({ close: async () => undefined }),
    record: createOriginRecord({ repository, origin, exclusive, fetch, onRefused: options.onRecordRefused }),
    origin: { refresh: () => exclusive(fetch) },
    close: async () => {
      transfers.close();
      await maintenance.close();
      await Promise.all([inner.close(), writer.close()]);
    },
  };
}

/** What is known of the mirror between two fetches. */
interface MirrorState {
  /** Rejects as `unavailable` where origin was never reached: what was never fetched is not an empty branch. */
  requireReached(): Promise<void>;
  /** A failure to read may mean that the mirror is damaged: the next fetch looks. */
  suspect(): void;
  /** Brings the mirror to where origin is; makes a new one first, where it is damaged. */
  fetch(): Promise<void>;
}

function createMirrorState(
  options: RemoteOptions,
  repository: Repository,
  branch: string,
  origin: Origin,
  letGo: () => Promise<void>,
): MirrorState {
  const folder = repository.gitFolder;
  let isReached = false;
  let isSuspect = false;
  let failure: string | null = null;

  const hasTip = async (): Promise<boolean> => {
    const tip = await runGit(repository.context, commands.tip(trackingRef(branch))).catch(() => '');
    return tip !== '';
  };

  /** The processes that read from the old folder would go on doing so. */
  const remake = async (): Promise<void> => {
    await letGo();
    await makeMirror(folder, options);
    await letGo();
    isReached = false;
  };

  const fetch = async (): Promise<void> => {
    if (isSuspect && !(await isWhole(repository, options))) await remake();
    isSuspect = false;
    const isFirst = !(await hasTip());
    const isThere = await origin.fetch(isFirst).catch((error: unknown) => {
      isSuspect = isDamage(error);
      failure = messageOf(error);
      throw error;
    });
    if (!isThere && !isFirst) {
      throw new HoldfastError('unavailable', `origin has no branch "${options.branch}" any more`);
    }
    isReached = true;
  };

  return {
    fetch,
    suspect: () => {
      isSuspect = true;
    },
    requireReached: async () => {
      if (isReached || (await hasTip())) return;
      throw new HoldfastError('unavailable', failure ?? 'origin was not reached yet');
    },
  };
}

/** Whether nothing of the mirror is missing or damaged. */
async function isWhole(repository: Repository, { access, limits }: RemoteOptions): Promise<boolean> {
  const context = { ...repository.context, timeLimit: limits.first.total };
  if (!(await isUsable(context, access.url))) return false;
  try {
    await runGit(context, commands.checkObjects());
    return true;
  } catch (error) {
    return error instanceof GitFailure && error.exitCode === null;
  }
}

/** Whether git failed over something in the mirror rather than on the way to origin. */
function isDamage(error: unknown): boolean {
  const { cause } = error as { cause?: unknown };
  return cause instanceof GitFailure && DAMAGE.test(cause.stderr);
}

const DAMAGE =
  /not a git repository|bad object|corrupt|loose object|packfile|pack has|missing (tree|blob|commit)|unable to (read|create|open)|did not send all necessary|index-pack|bad config|No such file/i;

/** Reads the mirror as if it were the repository that it mirrors. */
function mirrorReader(inner: Reader, branch: string, mirror: MirrorState): Reader {
  let hadTip = false;
  const head = async (): Promise<Head> => {
    const { revision } = await inner.head();
    if (revision === null) await mirror.requireReached();
    // Nobody takes the tip away: a mirror that has lost it is damaged, and nothing may be taken for deleted.
    if (revision === null && hadTip)
      throw new HoldfastError('unavailable', 'the mirror of origin is damaged; it is made again');
    hadTip = revision !== null;
    return { revision, branch };
  };
  const noting =
    <A extends unknown[], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      try {
        return await read(...args);
      } catch (error) {
        mirror.suspect();
        throw error;
      }
    };
  const missing = new Set<string>();
  const blob: Reader['blob'] = async (id, maxBytes) => {
    const found = await inner.blob(id, maxBytes);
    // Origin takes no commit without its blobs; what a whole mirror still does not have is missing there, too.
    if (!('missing' in found) || missing.has(id)) return found;
    missing.add(id);
    throw new HoldfastError('unavailable', 'a file of the commit is missing in the mirror; it is made again');
  };
  return {
    ...inner,
    head: noting(head),
    folder: noting(inner.folder),
    list: noting(inner.list),
    changes: noting(inner.changes),
    blob: noting(blob),
    commit: noting(inner.commit),
    isAncestor: noting(inner.isAncestor),
  };
}
