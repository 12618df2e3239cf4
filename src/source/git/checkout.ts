import { stat } from 'node:fs/promises';
import { HoldfastError } from '../../errors.ts';
import { type Faults, NO_FAULTS } from '../../faults.ts';
import type { IdsRecord, Source } from '../source.ts';
import { commands, refName } from './process/commands.ts';
import { createLauncher } from './process/launcher.ts';
import { openObjects } from './read/objects.ts';
import { createReader } from './read/reader.ts';
import { createIdsRecord } from './record/ids-record.ts';
import { RECORD_REF } from './record/refs.ts';
import { followedBranch, followedHead } from './repository/followed.ts';
import { removeStalePackFiles } from './repository/leftovers.ts';
import { createMaintenance, type Maintenance } from './repository/maintenance.ts';
import { requireBranch } from './repository/missing-branch.ts';
import { createRepository, dropUnfinished } from './repository/new-repository.ts';
import { followReplaced } from './repository/replaced.ts';
import { findRepository, type Machine, type Repository } from './repository/repository.ts';
import { watchRepository } from './repository/watch.ts';
import { createLocks, isLocked, type Locks } from './work-tree/locks.ts';
import { createCheckoutPublisher } from './write/checkout-publisher.ts';
import { openCommitWriter } from './write/commit-writer.ts';
import type { Undone } from './write/move-branch.ts';

/** The git source of a folder in a work tree of this machine. */
export interface CheckoutSource extends Source {
  repository: Repository;
  /** Whether the folder was in no repository, so that one was created. */
  isNew: boolean;
  /**
   * Removes locks and packs that dead processes left behind, and undoes a write that was left unfinished in the work
   * tree; resolves and rejects as `CheckoutPublisher.recover` does.
   */
  recover(): Promise<Undone | null>;
}

/** What the manager can add to a checkout; all of it is optional. */
export interface CheckoutOptions {
  faults: Faults;
  /** Whether a folder that is in no repository gets one. False if commits were served from there before. */
  mayCreate(): Promise<boolean>;
  /** Called with the removed locks of dead processes, as paths in the repository's folder. */
  onLocksCleared(files: string[]): void;
  /** Called when a write begins by undoing an earlier one that was left unfinished. */
  onUndone(undone: Undone): void;
  /** Called once with the reason if many packs cannot be joined, and with null when there are few again. */
  onJoinSkipped(reason: string | null): void;
}

const DEFAULTS: CheckoutOptions = {
  faults: NO_FAULTS,
  mayCreate: async () => true,
  onLocksCleared: () => undefined,
  onUndone: () => undefined,
  onJoinSkipped: () => undefined,
};

/**
 * Opens the repository that the folder is in, or creates one if it is in none. `branch` is the short name of the branch
 * to follow; null follows what is checked out. Rejects as `invalid` if the folder cannot be used.
 */
export async function openCheckout(
  folder: string,
  branch: string | null,
  machine: Machine,
  overrides: Partial<CheckoutOptions> = {},
): Promise<CheckoutSource> {
  const options = { ...DEFAULTS, ...overrides };
  const { faults, onLocksCleared, onJoinSkipped, onUndone } = options;
  const { repository, isNew } = await findOrCreate(folder, machine, options);
  const fixedBranch = branch === null ? null : refName(`refs/heads/${branch}`);
  const objects = openObjects(repository.context);
  const locks = createLocks(repository, onLocksCleared);
  const plainReader = createReader(repository, objects, () =>
    fixedBranch === null ? followedHead(repository) : followedBranch(repository, fixedBranch),
  );
  const writer = openCommitWriter(repository);
  const drop = { command: commands.repackReached(), closeWriters: writer.close };
  const maintenance = createMaintenance(repository, drop, onJoinSkipped);
  const launcher = createLauncher();
  const publisher = createCheckoutPublisher(
    { repository, objects, launcher, locks, faults, maintenance },
    writer,
    onUndone,
  );
  const { reader, watch } = await followReplaced({
    reader: fixedBranch === null ? plainReader : requireBranch(plainReader, repository, fixedBranch),
    repository,
    closeProcesses: async () => {
      await Promise.all([plainReader.close(), publisher.close(), maintenance.stop()]);
    },
    watch: (onChange) => watchRepository(repository, onChange),
  });
  return {
    repository,
    isNew,
    reader,
    publisher,
    record: withMaintenance(withoutDeadLock(createIdsRecord(repository), locks), maintenance),
    origin: null,
    isFolderOnDisk: async () => (await stat(folder).catch(() => null))?.isDirectory() === true,
    recover: async () => {
      await removeStalePackFiles(repository);
      // Removing the lock lets users commit on top of a half-made write, so it is undone right after.
      await locks.clear();
      return publisher.recover();
    },
    watch,
    close: async () => {
      await Promise.all([reader.close(), publisher.close(), maintenance.close()]);
    },
  };
}

/**
 * Joins packs after writes of the record, too: each version adds a pack, and restarts write versions but publish
 * nothing.
 */
function withMaintenance(record: IdsRecord, maintenance: Maintenance): IdsRecord {
  return {
    ...record,
    write: (draft) => maintenance.addingObjects(() => record.write(draft)),
  };
}

/**
 * Removes the lock that a dead git left on the record: it blocks no write to a branch, so nothing else would before the
 * next start. All other locks stay, since removing them can uncover a half-made write.
 */
function withoutDeadLock(record: IdsRecord, locks: Locks): IdsRecord {
  return {
    ...record,
    write: (draft) =>
      record.write(draft).catch(async (error: Error) => {
        if (!isLocked(error.cause) || (await locks.clear(RECORD_REF)).length === 0) throw error;
        return record.write(draft);
      }),
  };
}

async function findOrCreate(
  folder: string,
  machine: Machine,
  { faults, mayCreate }: CheckoutOptions,
): Promise<{ repository: Repository; isNew: boolean }> {
  const stats = await stat(folder).catch(() => null);
  if (stats !== null && !stats.isDirectory()) throw new HoldfastError('invalid', `${folder} is not a folder`);
  await dropUnfinished(folder);
  const found = await findRepository(folder, machine);
  if (found === null && stats === null) {
    throw new HoldfastError(
      'invalid',
      `${folder} does not exist; create it, or set DESIRED_STATE to the folder`,
    );
  }
  if (found === null && !(await mayCreate())) {
    throw new HoldfastError(
      'invalid',
      `${folder} is no longer in a git repository, but the store has revisions of one; restore the repository`,
    );
  }
  const repository = found ?? (await createRepository(folder, machine, faults));
  if (/[\r\n]/.test(repository.prefix))
    throw new HoldfastError('invalid', 'the folder has a line break in its name');
  return { repository, isNew: found === null };
}
