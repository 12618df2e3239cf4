import { stat } from 'node:fs/promises';
import { HoldfastError } from '../../errors.ts';
import { type Faults, NO_FAULTS } from '../../faults.ts';
import type { IdsRecord, Source } from '../source.ts';
import { commands, refName } from './process/commands.ts';
import { createLauncher } from './process/launcher.ts';
import { openObjects } from './read/objects.ts';
import { createReader } from './read/reader.ts';
import { createIdsRecord } from './record/ids-record.ts';
import { followedBranch, followedHead } from './repository/followed.ts';
import { clearLeftPacks } from './repository/leftovers.ts';
import { createMaintenance, type Maintenance } from './repository/maintenance.ts';
import { requireBranch } from './repository/missing-branch.ts';
import { createRepository, dropUnfinished } from './repository/new-repository.ts';
import { followReplaced } from './repository/replaced.ts';
import { findRepository, type Machine, type Repository } from './repository/repository.ts';
import { watchRepository } from './repository/watch.ts';
import { createLocks } from './work-tree/locks.ts';
import { createCheckoutPublisher } from './write/checkout-publisher.ts';
import { openCommitWriter } from './write/commit-writer.ts';
import type { Undone } from './write/move-branch.ts';

/** The git source of a folder in a work tree of this machine. */
export interface CheckoutSource extends Source {
  repository: Repository;
  /** The folder was in no repository and got one. */
  isNew: boolean;
  /**
   * Removes locks and packs that dead processes left, and undoes what one left half done in the work tree; see
   * `CheckoutPublisher`.
   */
  recover(): Promise<Undone | null>;
}

/** What the manager adds. */
export interface CheckoutOptions {
  faults: Faults;
  /** Whether a folder that is in no repository gets one; not where commits were served from there before. */
  mayCreate(): Promise<boolean>;
  /** Called with the locks of dead processes that were removed, by their paths in the repository's folder. */
  onLocksCleared(files: string[]): void;
  /** Called when a write has undone an earlier one that was unfinished. */
  onUndone(undone: Undone): void;
  /** Called once with the reason why packs are not joined, and with null when there are few again. */
  onPacksLeft(reason: string | null): void;
}

const DEFAULTS: CheckoutOptions = {
  faults: NO_FAULTS,
  mayCreate: async () => true,
  onLocksCleared: () => undefined,
  onUndone: () => undefined,
  onPacksLeft: () => undefined,
};

/**
 * Opens the repository that the folder lies in; makes one where there is none. `branch` names the branch to
 * follow; null follows the one that is checked out. Rejects as `invalid` when the folder cannot be used.
 */
export async function openCheckout(
  folder: string,
  branch: string | null,
  machine: Machine,
  given: Partial<CheckoutOptions> = {},
): Promise<CheckoutSource> {
  const options = { ...DEFAULTS, ...given };
  const { faults, onLocksCleared, onPacksLeft, onUndone } = options;
  const { repository, isNew } = await findOrMake(folder, machine, options);
  const fixed = branch === null ? null : refName(`refs/heads/${branch}`);
  const objects = openObjects(repository.context);
  const locks = createLocks(repository, onLocksCleared);
  const all = createReader(repository, objects, () =>
    fixed === null ? followedHead(repository) : followedBranch(repository, fixed),
  );
  const writer = openCommitWriter(repository);
  const drop = { command: commands.repackReached(), forget: writer.close };
  const maintenance = createMaintenance(repository, drop, onPacksLeft);
  const launcher = createLauncher();
  const publisher = createCheckoutPublisher(
    { repository, objects, launcher, locks, faults, maintenance },
    writer,
    onUndone,
  );
  const { reader, watch } = await followReplaced({
    reader: fixed === null ? all : requireBranch(all, repository, fixed),
    repository,
    letGo: async () => {
      await Promise.all([all.close(), publisher.close(), maintenance.stop()]);
    },
    watch: (onChange) => watchRepository(repository, onChange),
  });
  return {
    repository,
    isNew,
    reader,
    publisher,
    record: joiningPacks(createIdsRecord(repository), maintenance),
    origin: null,
    isFolderMade: async () => (await stat(folder).catch(() => null))?.isDirectory() === true,
    recover: async () => {
      await clearLeftPacks(repository);
      // Without the lock, a write that a dead manager left half-made is open to a person's commit: nothing comes between.
      await locks.clear();
      return publisher.recover();
    },
    watch,
    close: async () => {
      await Promise.all([reader.close(), publisher.close(), maintenance.close()]);
    },
  };
}

/** Each version is a pack, and restarts write versions without a publish. */
function joiningPacks(record: IdsRecord, maintenance: Maintenance): IdsRecord {
  return {
    ...record,
    write: (draft) => maintenance.adding(() => record.write(draft)),
  };
}

async function findOrMake(
  folder: string,
  machine: Machine,
  { faults, mayCreate }: CheckoutOptions,
): Promise<{ repository: Repository; isNew: boolean }> {
  const kind = await stat(folder).catch(() => null);
  if (kind !== null && !kind.isDirectory()) throw new HoldfastError('invalid', `${folder} is not a folder`);
  await dropUnfinished(folder);
  const found = await findRepository(folder, machine);
  if (found === null && kind === null) {
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
