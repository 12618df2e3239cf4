import { createLimiter } from '../../../async/limiter.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import { lineOf } from '../../../ids/record-ref.ts';
import type { Publisher, Reader, Source, SourceOrigin } from '../../source.ts';
import { createMerge } from '../merge/merge.ts';
import { accessConfig, NO_CREDENTIALS } from '../origin/access.ts';
import {
  createOrigin,
  type FollowedRefs,
  type Origin,
  observed,
  type TransferLimits,
  type TransferObserver,
} from '../origin/origin.ts';
import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { recordRef, refName, trackingRef } from '../process/ref-names.ts';
import { type GitContext, runGit } from '../process/run.ts';
import { createTransfers } from '../process/transfer.ts';
import { openObjects } from '../read/objects.ts';
import { createReader } from '../read/reader.ts';
import { followedBranch } from '../refs/followed.ts';
import { moveRefs } from '../refs/move.ts';
import { createObjectsOnDisk } from '../repository/objects-on-disk.ts';
import type { Repository } from '../repository/repository.ts';
import { createPublisher } from '../write/publisher.ts';
import { makeStaging, type Staging } from '../write/staging.ts';
import { findAtOrigin } from './find.ts';
import { type MirrorOptions, openMirror } from './mirror.ts';
import { mirrorReader } from './reader.ts';
import { createOriginRecord } from './record.ts';
import { createMirrorState } from './state.ts';
import { createTurns, type Turns } from './turns.ts';

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
  const { context, prefix } = repository;
  const followed = { branch, record: recordRef(lineOf({ folder: prefix, branch })) };
  const staging = await makeStaging(options.dataFolder, repository, options.machine);
  const connection = connectOrigin({ context, transfer, staging }, followed, options);
  const { origin, recordOrigin, checks, find, ...endings } = connection;
  const inner = createReader(repository, openObjects(context), () =>
    followedBranch(repository, trackingRef(branch)),
  );
  const endProcesses = async (): Promise<void> => {
    await Promise.all([inner.close(), staging.expire()]);
  };
  const { limits, access } = options;
  const mirror = createMirrorState({ options, repository, followed, origin, limits, checks, endProcesses });
  const turns = createTurns(repository);
  const lookUp = oneByOne((name) => turns.run(() => find(name)));
  const reader = mirrorReader(inner, branch, mirror);
  const parts = { repository, staging, reader, origin, turns, fetch: mirror.fetch };
  return {
    repository,
    address: access.url,
    reader,
    publisher: remotePublisher({ ...options, branch }, parts),
    watch: async () => ({ close: async () => undefined }),
    record: createOriginRecord({ repository, branch, turns, mirror, access, origin: recordOrigin }),
    // There is no work tree: a folder exists only once it is in a commit.
    isFolderOnDisk: async () => false,
    remote: access.url,
    merge: await createMerge(repository, options.dataFolder, options.machine),
    origin: {
      ...endings,
      refresh: () => turns.run(mirror.repairAndFetch),
      find: lookUp,
      abandon: () => {
        // The last version of the record must not wait for a clean-up.
        void turns.endCleanUp();
        endings.abandon();
      },
    },
    close: async () => {
      endings.abandon();
      endings.abandonRecord();
      await Promise.all([inner.close(), staging.close(), turns.endCleanUp()]);
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
  staging: Staging;
  reader: Reader;
  origin: Origin;
  turns: Turns;
  fetch(): Promise<void>;
}

/** Publishes to `branch`, given by its full name. */
function remotePublisher(
  { branch, limits, faults }: Pick<RemoteOptions, 'branch' | 'limits' | 'faults'>,
  { repository, staging, reader, origin, turns, fetch }: PublishingParts,
): Publisher {
  const fromStaging = fetchingFrom(staging.repository.gitFolder, repository.context);
  const onDisk = createObjectsOnDisk(repository);
  return createPublisher({
    staging,
    reader,
    // Fetches and pushes take turns: a fetch that began before a push would move the branch back in the mirror.
    inTurn: (push) => turns.runWithin(limits.usual.total, mirrorBusy, push),
    push: ({ base, tip }) => origin.push(branch, base.revision, tip),
    onPushed: ({ base, tip }) => {
      // What was pushed is at hand, so that origin need not be asked for it.
      const take = async (): Promise<void> => {
        await runGit(fromStaging, commands.fetchOne(tip));
        await onDisk.sync();
        await moveRefs(repository, [{ ref: trackingRef(branch), to: tip, expected: base.revision }]);
      };
      // A second fetch, since it removes what a failed one may have left in the way.
      return take().catch(fetch).catch(fetch);
    },
    follower: 'the mirror',
    fetch,
    faults,
  });
}

/** Returns the context in which `origin` is a repository on this machine, and small fetches make no packs. */
function fetchingFrom(url: string, context: GitContext): GitContext {
  const settings = [...accessConfig({ ...NO_CREDENTIALS, url }), ['fetch.unpackLimit', '100'] as const];
  return { ...context, env: { ...withConfig(context.env, settings), GIT_ALLOW_PROTOCOL: 'file' } };
}

function mirrorBusy(): HoldfastError {
  const message = 'a long fetch from origin or a clean-up of the mirror is in progress; try again later';
  return new HoldfastError('unavailable', message);
}

/**
 * Makes two sets of transfers that can be ended separately: one for polls and writes, and one for the record, which at the
 * end of the process has more time. All transfers take turns, so polls and writes would wait for a transfer of the record
 * that does not end. A poll also waits for the check of a mirror that may be damaged, which ends with the poll's fetch.
 */
function connectOrigin(
  { context, transfer, staging }: { context: GitContext; transfer: GitContext; staging: Staging },
  followed: FollowedRefs,
  { limits, onTransfer }: RemoteOptions,
) {
  const transfers = createTransfers(transfer);
  const recordTransfers = createTransfers(transfer);
  const { gitFolder } = staging.repository;
  const ofStaging = { ...transfer, folder: gitFolder, env: { ...transfer.env, GIT_DIR: gitFolder } };
  const pushes = createTransfers(ofStaging);
  const checks = createTransfers(context);
  return {
    origin: observed(createOrigin(transfers, followed, limits, pushes), onTransfer),
    recordOrigin: observed(createOrigin(recordTransfers, followed, limits), onTransfer),
    checks,
    find: (name: string) => findAtOrigin(name, transfers, limits.usual),
    interrupt: () => {
      for (const each of [checks, transfers, pushes]) each.end();
    },
    abandon: () => {
      for (const each of [checks, transfers, pushes]) each.close();
      // The last version of the record is sent again after that.
      recordTransfers.end();
    },
    abandonRecord: recordTransfers.close,
  };
}
