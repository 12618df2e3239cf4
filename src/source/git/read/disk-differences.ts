import type { TreeEntry } from '../../../desired/entry.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { parseIndexList } from './tree.ts';

/** How a commit of the work tree would differ from the folder on disk. Paths are relative to the folder. */
export interface DiskDifferences {
  /** Whether a file would not be in the commit because git ignores it. */
  isIgnored(path: string): boolean;
  /**
   * Entries that would be in the commit although they need not be on disk: submodules, and what a sparse checkout
   * omits.
   */
  kept: readonly TreeEntry[];
}

/** The letter of an index entry that a sparse checkout omits. */
const SKIPPED = 'S';

/** Reads the index and the rules of `.gitignore`. If git ignores the whole folder, nothing counts as ignored. */
export async function readDiskDifferences({ context, prefix }: Repository): Promise<DiskDifferences> {
  const folder = prefix === '' ? '' : `${prefix}/`;
  const inFolder = (path: string): string => path.slice(folder.length).replace(/\/$/, '');
  const output = await runGit(context, commands.ignored(prefix));
  const listed = output.split('\0').filter((path) => path !== '' && !folder.startsWith(path));
  const ignored = new Set(listed.map(inFolder));
  const index = parseIndexList(await runGit(context, commands.indexEntries(prefix)));
  return {
    isIgnored: (path) => withParents(path).some((name) => ignored.has(name)),
    kept: index
      .filter(({ letter, type }) => letter === SKIPPED || type === 'submodule')
      .map(({ path, type, blob }) => ({ path: inFolder(path), type, blob })),
  };
}

/** Returns the paths of all folders that a path is in, and the path itself. */
function withParents(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
