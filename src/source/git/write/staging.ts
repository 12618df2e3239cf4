import { join } from 'node:path';
import { Queue } from '../../../async/queue.ts';
import { makeBorrowing, ownRepository } from '../repository/borrowing.ts';
import type { Machine, Repository } from '../repository/repository.ts';
import { type CommitWriter, openCommitWriter } from './commit-writer.ts';

/** Uses after which it is recreated: what was pushed is in the lender, and each use adds a pack. */
const MOST_USES = 50;

/**
 * A bare repository of the manager that borrows the objects of a clone or of the mirror, its lender. All commits of writes
 * are made here, so that nothing of them is in the lender before they are pushed.
 */
export interface Staging {
  /** With the prefix of the lender. */
  repository: Repository;
  writer: CommitWriter;
  /** Runs work that makes commits on `base` here and pushes them; one after the other. */
  use<T>(base: string | null, work: () => Promise<T>): Promise<T>;
  /** Recreates it; only to be called by work that `use` runs. */
  renew(): Promise<void>;
  /** Has the next use recreate it, because the lender is another repository now. */
  expire(): Promise<void>;
  close(): Promise<void>;
}

/** Makes the staging repository in the data folder, in the place of an earlier one. Rejects as `unavailable`. */
export async function makeStaging(
  dataFolder: string,
  lender: Repository,
  machine: Machine,
): Promise<Staging> {
  // Nothing in it has to survive: what counts is pushed, and synced where it was pushed to.
  const repository = ownRepository(join(dataFolder, 'staging.git'), lender.prefix, machine);
  let idLength = await makeBorrowing(repository, lender);
  let uses = 0;
  let isExpired = false;
  // A failed writer leaves half a pack, or marks of packs.
  const writer = openCommitWriter(repository, async () => void (await makeBorrowing(repository, lender)));
  const queue = new Queue();
  const renew = async (): Promise<void> => {
    await writer.close();
    uses = 0;
    isExpired = false;
    idLength = await makeBorrowing(repository, lender);
  };
  return {
    repository,
    writer,
    use: (base, work) =>
      queue.run(async () => {
        uses += 1;
        // A clone can be replaced by one with other ids.
        if (isExpired || uses > MOST_USES || (base !== null && base.length !== idLength)) await renew();
        return work();
      }),
    renew,
    expire: () => {
      isExpired = true;
      return writer.close();
    },
    close: async () => {
      await queue.run(() => writer.close());
    },
  };
}
