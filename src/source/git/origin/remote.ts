import { Queue } from '../../../async/queue.ts';
import type { Faults } from '../../../faults.ts';
import type { Source } from '../../source.ts';
import { commands, refName, trackingRef } from '../process/commands.ts';
import type { GitContext } from '../process/run.ts';
import { createTransfers } from '../process/transfer.ts';
import { openObjects } from '../read/objects.ts';
import { createReader } from '../read/reader.ts';
import { followedBranch } from '../repository/followed.ts';
import { createMaintenance } from '../repository/maintenance.ts';
import type { Repository } from '../repository/repository.ts';
import { openCommitWriter } from '../write/commit-writer.ts';
import { openRefMover } from '../write/ref-mover.ts';
import { type MirrorOptions, openMirror } from './mirror.ts';
import { mirrorReader } from './mirror-reader.ts';
import { createMirrorState } from './mirror-state.ts';
import { createOrigin, observed, type TransferLimits, type TransferObserver } from './origin.ts';
import { createOriginRecord } from './origin-record.ts';
import { createPushPublisher } from './push-publisher.ts';

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
  const { context } = repository;
  const { limits, faults, access } = options;
  const { origin, recordOrigin, checks, ...endings } = connectOrigin(context, transfer, branch, options);
  const inner = createReader(repository, openObjects(context), () =>
    followedBranch(repository, trackingRef(branch)),
  );
  const writer = openCommitWriter(repository);
  const refs = openRefMover(repository);
  const maintenance = createMaintenance(repository, {
    command: commands.repackReachedOfDay(),
    closeWriters: writer.close,
  });
  const endProcesses = async (): Promise<void> => {
    await Promise.all([inner.close(), writer.close(), refs.close(), maintenance.stop()]);
  };
  const mirror = createMirrorState({ options, repository, branch, origin, limits, checks, endProcesses });
  const turns = new Queue();
  const reader = mirrorReader(inner, branch, mirror);
  const { fetch } = mirror;
  const waitLimit = limits.usual.total;
  const publishing = { branch, origin, writer, refs, reader, turns, fetch, waitLimit, maintenance, faults };
  return {
    repository,
    reader,
    publisher: createPushPublisher(publishing),
    watch: async () => ({ close: async () => undefined }),
    record: createOriginRecord({
      repository,
      branch,
      origin: recordOrigin,
      turns,
      mirror,
      access,
      maintenance,
    }),
    // There is no work tree: a folder exists only once it is in a commit.
    isFolderOnDisk: async () => false,
    origin: { refresh: () => turns.run(() => maintenance.addingObjects(mirror.repairAndFetch)), ...endings },
    close: async () => {
      endings.abandon();
      endings.abandonRecord();
      await Promise.all([inner.close(), writer.close(), refs.close(), maintenance.close()]);
    },
  };
}

/**
 * Makes two sets of transfers that can be ended separately: one for polls and writes, and one for the record, which at the
 * end of the process has more time. All transfers take turns, so polls and writes would wait for a transfer of the record
 * that does not end. A poll also waits for the check of a mirror that may be damaged, which ends with the poll's fetch.
 */
function connectOrigin(
  local: GitContext,
  transfer: GitContext,
  branch: string,
  { limits, onTransfer }: RemoteOptions,
) {
  const transfers = createTransfers(transfer);
  const recordTransfers = createTransfers(transfer);
  const checks = createTransfers(local);
  return {
    origin: observed(createOrigin(transfers, branch, limits), onTransfer),
    recordOrigin: observed(createOrigin(recordTransfers, branch, limits), onTransfer),
    checks,
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
