import { stat } from 'node:fs/promises';
import { HoldfastError } from '../../errors.ts';
import type { Source } from '../source.ts';
import { createCheckoutPublisher } from './checkout-publisher.ts';
import { refName } from './commands.ts';
import { openObjects } from './objects.ts';
import { createReader } from './reader.ts';
import { createIdsRecord } from './record.ts';
import {
  createRepository,
  currentBranch,
  findRepository,
  type Machine,
  type Repository,
} from './repository.ts';
import { watchRepository } from './watch.ts';

/** The git source of a folder in a work tree of this machine. */
export interface CheckoutSource extends Source {
  repository: Repository;
  /** The folder was in no repository and got one. */
  isNew: boolean;
}

/**
 * Opens the repository that the folder lies in; makes one where there is none. `branch` names the branch to
 * follow; null follows the one that is checked out. Rejects as `invalid` when the folder cannot be used.
 */
export async function openCheckout(
  folder: string,
  branch: string | null,
  machine: Machine,
): Promise<CheckoutSource> {
  const kind = await stat(folder).catch(() => null);
  if (kind !== null && !kind.isDirectory()) throw new HoldfastError('invalid', `${folder} is not a folder`);
  const found = await findRepository(folder, machine);
  if (found === null && kind === null) {
    throw new HoldfastError(
      'invalid',
      `${folder} does not exist; create it, or set DESIRED_STATE to the folder`,
    );
  }
  const repository = found ?? (await createRepository(folder, machine));
  if (/[\r\n]/.test(repository.prefix))
    throw new HoldfastError('invalid', 'the folder has a line break in its name');
  const fixed = branch === null ? null : refName(`refs/heads/${branch}`);
  const objects = openObjects(repository.context);
  return {
    repository,
    isNew: found === null,
    reader: createReader(repository, objects, () =>
      fixed === null ? currentBranch(repository) : Promise.resolve(fixed),
    ),
    publisher: createCheckoutPublisher(repository, objects),
    record: createIdsRecord(repository),
    watch: (onChange) => watchRepository(repository, onChange),
  };
}
