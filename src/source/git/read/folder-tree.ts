import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import type { ObjectReader } from './objects.ts';
import { parseTreeList } from './tree.ts';

/**
 * Resolves to the id of the desired-state folder's tree at a commit; null if there is no such folder, or a file in its
 * place. Rejects as `unavailable` if the commit has the folder but its tree cannot be read: a damaged folder must not
 * be taken for a missing one.
 */
export async function findFolder(
  { context, prefix }: Repository,
  objects: ObjectReader,
  commit: string,
): Promise<string | null> {
  const found = await objects.info(prefix === '' ? `${commit}^{tree}` : `${commit}:${prefix}`);
  if (found?.type === 'tree') return found.id;
  const entries = prefix === '' ? '' : await runGit(context, commands.treeEntry(commit, prefix));
  // The type `file` includes trees.
  const isExpected =
    prefix === '' || (found === null && parseTreeList(entries).some(({ type }) => type === 'file'));
  if (!isExpected) return null;
  throw new HoldfastError(
    'unavailable',
    `the folder's tree at ${commit} is missing or damaged; see git fsck`,
  );
}
