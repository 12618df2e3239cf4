import { stat } from 'node:fs/promises';
import { HoldfastError } from '../../../errors.ts';
import { type Faults, NO_FAULTS } from '../../../faults.ts';
import type { Source } from '../../source.ts';
import { createMerge } from '../merge/merge.ts';
import { refName } from '../process/ref-names.ts';
import { openObjects } from '../read/objects.ts';
import { createReader } from '../read/reader.ts';
import { followedBranch, followedHead } from '../refs/followed.ts';
import { requireBranch } from '../refs/missing-branch.ts';
import { syncRef } from '../refs/sync.ts';
import { createCleanUp } from '../repository/clean-up.ts';
import { createRepository, dropUnfinished } from '../repository/new-repository.ts';
import { createObjectsOnDisk } from '../repository/objects-on-disk.ts';
import { remoteAddress } from '../repository/remote-address.ts';
import { findRepository, type Machine, type Repository } from '../repository/repository.ts';
import { followReplaced } from '../watch/replaced.ts';
import { watchRepository } from '../watch/watch.ts';
import { makeStaging } from '../write/staging.ts';
import { createClonePublisher } from './publisher.ts';
import { createClonePusher } from './push.ts';
import { createCloneRecord, dropTemporaryRef } from './record.ts';

/** The git source of a folder in a clone on this machine. */
export interface CloneSource extends Source {
  repository: Repository;
  /** Whether the folder was in no repository, so that one was created. */
  isNew: boolean;
}

/** How to follow a clone. */
export interface CloneOptions {
  /** Path of the desired-state folder. */
  folder: string;
  /** Short name of the branch to follow; null follows what is checked out. */
  branch: string | null;
  machine: Machine;
  /** The manager's own folder. */
  dataFolder: string;
  faults?: Faults;
  /** Whether a folder that is in no repository gets one. False if commits were served from there before. */
  mayCreate?(): Promise<boolean>;
}

/**
 * Opens the clone that the folder is in, or creates a repository if it is in none. The clone is an origin that is at hand:
 * it is read in place, and commits are pushed into it. Rejects as `invalid` if the folder cannot be used, as `unavailable`
 * if the data folder cannot.
 */
export async function openClone(options: CloneOptions): Promise<CloneSource> {
  const { folder, branch, machine, dataFolder, faults = NO_FAULTS } = options;
  const { repository, isNew } = await findOrCreate(options, faults);
  const fixedBranch = branch === null ? null : refName(`refs/heads/${branch}`);
  const objects = openObjects(repository.context);
  const followed = () =>
    fixedBranch === null ? followedHead(repository) : followedBranch(repository, fixedBranch);
  const plainReader = createReader(repository, objects, followed);
  const { reader, watch } = await followReplaced({
    reader: fixedBranch === null ? plainReader : requireBranch(plainReader, repository, fixedBranch),
    repository,
    closeProcesses: plainReader.close,
    watch: (events) => watchRepository(repository, async () => (await followed()).branch, events),
  });
  await dropTemporaryRef(repository);
  const staging = await makeStaging(dataFolder, repository, machine);
  const pusher = await createClonePusher(repository, staging.repository, dataFolder);
  const onDisk = createObjectsOnDisk(repository);
  const cleanUp = createCleanUp(repository);
  const onPushed = async (ref: string): Promise<void> => {
    cleanUp.afterWrite();
    await syncRef(repository, ref);
  };
  const clone = { repository, objects };
  const publisher = createClonePublisher({ clone, reader, staging, pusher, onDisk, onPushed, faults });
  return {
    repository,
    isNew,
    address: repository.context.folder,
    reader,
    publisher,
    record: createCloneRecord(repository, onDisk, cleanUp.afterWrite),
    origin: null,
    remote: await remoteAddress(repository),
    merge: await createMerge(repository, dataFolder, machine),
    isFolderOnDisk: async () => (await stat(folder).catch(() => null))?.isDirectory() === true,
    watch,
    close: async () => {
      await Promise.all([reader.close(), publisher.close(), cleanUp.close()]);
    },
  };
}

async function findOrCreate(
  { folder, machine, mayCreate = async () => true }: CloneOptions,
  faults: Faults,
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
