import { createLimiter } from '../../../async/limiter.ts';
import { Queue } from '../../../async/queue.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import { lineOf } from '../../../ids/record-ref.ts';
import type { Publisher, Reader, Source, SourceOrigin } from '../../source.ts';
import { createMerge } from '../merge/merge.ts';
import {
  createOrigin,
  type FollowedRefs,
  type Origin,
  observed,
  type TransferLimits,
  type TransferObserver,
} from '../origin/origin.ts';
import { recordRef, refName, trackingRef } from '../process/ref-names.ts';
import type { GitContext } from '../process/run.ts';
import { createTransfers } from '../process/transfer.ts';
import { openObjects } from '../read/objects.ts';
import { createReader } from '../read/reader.ts';
import { followedBranch } from '../refs/followed.ts';
import { moveRefs } from '../refs/move.ts';
import type { Repository } from '../repository/repository.ts';
import { type CommitWriter, openCommitWriter } from '../write/commit-writer.ts';
import { createPushPublisher } from '../write/push-publisher.ts';
import { findAtOrigin } from './find.ts';
import { removeFailedWriter } from './leftovers.ts';
import { createMaintenance } from './maintenance.ts';
import { type MirrorOptions, openMirror } from './mirror.ts';
import { mirrorReader } from './reader.ts';
import { createOriginRecord } from './record.ts';
import { createMirrorState } from './state.ts';

/** How to follow a branch of a remote repository. */
export interface RemoteOptions extends MirrorOptions {
  /** Short name of the branch. */
  branch: string;
  limits: TransferLimits;
  onTransfer: TransferObserver;
  faults: Faults;
}

/** The git source of a remote repository. */
export interface RemoteSource extends Source {
  repository: Repository;
  origin: NonNullable<Source['origin']>;
}

/**
 * Follows a branch of a remote repository through a mirror: reads come from the mirror, and commits are pushed. Fetches
 * nothing yet, so origin need not be reachable. Rejects as `invalid` if the settings cannot be used.
 */
export async function openRemote(options: RemoteOptions): Promise<RemoteSource> {
  const branch = refName(`refs/heads/${options.branch}`);
  const { repository, transfer } = await openMirror(options, trackingRef(branch));
  const followed = { branch, record: recordRef(lineOf({ folder: repository.prefix, branch })) };
  const { limits, access } = options;
  const connection = connectOrigin(repository.context, transfer, followed, options);
  const { origin, recordOrigin, checks, find, ...endings } = connection;
  const inner = createReader(repository, openObjects(repository.context), () =>
    followedBranch(repository, trackingRef(branch)),
  );
  const writer = openCommitWriter(repository, () => removeFailedWriter(repository.gitFolder));
  const maintenance = createMaintenance(repository, writer.close);
  const endProcesses = async (): Promise<void> => {
    await Promise.all([inner.close(), writer.close(), maintenance.stop()]);
  };
  const mirror = createMirrorState({ options, repository, followed, origin, limits, checks, endProcesses });
  const merge = await createMerge(repository, options.dataFolder, options.machine);
  const turns = new Queue();
  const add = <T>(act: () => Promise<T>) => turns.run(() => maintenance.addingObjects(act));
  const lookUp = oneByOne((name) => add(() => find(name)));
  const reader = mirrorReader(inner, branch, mirror);
  const publish = remotePublisher(
    { ...options, branch },
    { repository, writer, reader, origin, turns, fetch: mirror.fetch },
  );
  const recording = { repository, branch, turns, mirror, access, maintenance };
  return {
    repository,
    address: options.access.url,
    reader,
    publisher: {
      publish: (...write) => maintenance.addingObjects(() => publish(...write)),
      close: writer.close,
    },
    watch: async () => ({ close: async () => undefined }),
    record: createOriginRecord({ ...recording, origin: recordOrigin }),
    // There is no work tree: a folder exists only once it is in a commit.
    isFolderOnDisk: async () => false,
    remote: options.access.url,
    merge,
    origin: { refresh: () => add(mirror.repairAndFetch), find: lookUp, ...endings },
    close: async () => {
      endings.abandon();
      endings.abandonRecord();
      await Promise.all([inner.close(), writer.close(), maintenance.close()]);
    },
  };
}

/** How many names can wait to be looked up at origin; each holds up the polls and writes behind it. */
const MAX_LOOK_UPS = 16;

function oneByOne(lookUp: SourceOrigin['find']): SourceOrigin['find'] {
  const limited = createLimiter(1, MAX_LOOK_UPS, () => {
    return new HoldfastError('unavailable', 'too many revisions are being looked up at origin; try again');
  });
  return (name) => limited(() => lookUp(name));
}

/** What a publisher needs of a remote repository. */
interface PublishingParts {
  repository: Repository;
  writer: CommitWriter;
  reader: Reader;
  origin: Origin;
  turns: Queue;
  fetch(): Promise<void>;
}

/** Makes commits in the mirror and pushes them to `branch`, given by its full name. */
function remotePublisher(
  { branch, limits, faults }: Pick<RemoteOptions, 'branch' | 'limits' | 'faults'>,
  { repository, writer, reader, origin, turns, fetch }: PublishingParts,
): Publisher['publish'] {
  return createPushPublisher({
    writer,
    reader,
    // Fetches and pushes take turns: a fetch that began before a push would move the branch back in the mirror.
    inTurn: (push) => turns.runWithin(limits.usual.total, fetchInProgress, push),
    push: ({ base, tip }) => origin.push(branch, base.revision, tip),
    onPushed: ({ base, tip }) => {
      const move = { ref: trackingRef(branch), to: tip, expected: base.revision };
      // This saves a fetch. A second fetch, since it removes what a failed one may have left in the way.
      return moveRefs(repository, [move]).catch(fetch).catch(fetch);
    },
    follower: 'the mirror',
    fetch,
    faults,
  });
}

function fetchInProgress(): HoldfastError {
  return new HoldfastError('unavailable', 'a long fetch from origin is in progress; try again later');
}

/**
 * Makes two sets of transfers that can be ended separately: one for polls and writes, and one for the record, which at the
 * end of the process has more time. All transfers take turns, so polls and writes would wait for a transfer of the record
 * that does not end. A poll also waits for the check of a mirror that may be damaged, which ends with the poll's fetch.
 */
function connectOrigin(
  local: GitContext,
  transfer: GitContext,
  followed: FollowedRefs,
  { limits, onTransfer }: RemoteOptions,
) {
  const transfers = createTransfers(transfer);
  const recordTransfers = createTransfers(transfer);
  const checks = createTransfers(local);
  return {
    origin: observed(createOrigin(transfers, followed, limits), onTransfer),
    recordOrigin: observed(createOrigin(recordTransfers, followed, limits), onTransfer),
    checks,
    find: (name: string) => findAtOrigin(name, transfers, limits.usual),
    interrupt: () => {
      checks.end();
      transfers.end();
    },
    abandon: () => {
      checks.close();
      transfers.close();
      // The last version of the record is sent again after that.
      recordTransfers.end();
    },
    abandonRecord: recordTransfers.close,
  };
}
