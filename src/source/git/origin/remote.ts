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

/** How to follow a branch of a repository elsewhere. */
export interface RemoteOptions extends MirrorOptions {
  /** Short name of the branch. */
  branch: string;
  limits: TransferLimits;
  onTransfer: TransferObserver;
  faults: Faults;
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
  const { repository, transfer } = await openMirror(options, trackingRef(branch));
  const { context } = repository;
  const { limits, faults, access } = options;
  const { origin, forRecord, ...ends } = waysToOrigin(transfer, branch, options);
  const inner = createReader(repository, openObjects(context), () =>
    followedBranch(repository, trackingRef(branch)),
  );
  const writer = openCommitWriter(repository);
  const refs = openRefMover(repository);
  const maintenance = createMaintenance(repository, {
    command: commands.repackReachedOfDay(),
    forget: writer.close,
  });
  const letGo = async (): Promise<void> => {
    await Promise.all([inner.close(), writer.close(), refs.close(), maintenance.stop()]);
  };
  const mirror = createMirrorState({ options, repository, branch, origin, limits, letGo });
  const turns = new Queue();
  const reader = mirrorReader(inner, branch, mirror);
  const refresh = (): Promise<void> => maintenance.adding(mirror.look);
  const { fetch } = mirror;
  const patience = limits.usual.total;
  const ours = { branch, origin, writer, refs, reader, turns, fetch, patience, maintenance, faults };
  return {
    repository,
    reader,
    publisher: createPushPublisher(ours),
    watch: async () => ({ close: async () => undefined }),
    record: createOriginRecord({ repository, branch, origin: forRecord, turns, mirror, access, maintenance }),
    // What stands in a folder of somebody's is in a commit before anybody here can see it.
    isFolderMade: async () => false,
    origin: { refresh: () => turns.run(refresh), ...ends },
    close: async () => {
      ends.abandon();
      ends.abandonRecord();
      await Promise.all([inner.close(), writer.close(), refs.close(), maintenance.close()]);
    },
  };
}

/**
 * One way for looks and writes, and one for the record, which at the end of the process has longer than these. All take
 * turns: where the record's turn does not end, they would wait for it.
 */
function waysToOrigin(transfer: GitContext, branch: string, { limits, onTransfer }: RemoteOptions) {
  const transfers = createTransfers(transfer);
  const ofRecord = createTransfers(transfer);
  return {
    origin: observed(createOrigin(transfers, branch, limits), onTransfer),
    forRecord: observed(createOrigin(ofRecord, branch, limits), onTransfer),
    interrupt: transfers.end,
    abandon: () => {
      transfers.close();
      // The last version of the record is sent anew after that.
      ofRecord.end();
    },
    abandonRecord: ofRecord.close,
  };
}
