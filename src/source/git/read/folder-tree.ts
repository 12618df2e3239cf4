import { HoldfastError } from '../../../errors.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import type { ObjectReader } from './objects.ts';
import { parseTreeList } from './tree.ts';

/**
 * Id of the tree of the desired-state folder at a commit; null where the folder is not there, or is a file. Rejects
 * as `unavailable` where the commit names a tree that cannot be read: a damaged folder is not a missing one.
 */
export async function findFolder(
  { context, prefix }: Repository,
  objects: ObjectReader,
  commit: string,
): Promise<string | null> {
  const found = await objects.info(prefix === '' ? `${commit}^{tree}` : `${commit}:${prefix}`);
  if (found?.type === 'tree') return found.id;
  const entries = prefix === '' ? '' : await runGit(context, commands.treeEntry(commit, prefix));
  const isNamed =
    prefix === '' || (found === null && parseTreeList(entries).some(({ type }) => type === 'file'));
  if (!isNamed) return null;
  throw new HoldfastError(
    'unavailable',
    `the folder's tree at ${commit} is missing or damaged; see git fsck`,
  );
}
