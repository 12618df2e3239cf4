import type { TreeEntry } from '../../../desired/entry.ts';
import { commands } from '../process/commands.ts';
import { runGit } from '../process/run.ts';
import type { Repository } from '../repository/repository.ts';
import { parseIndexList } from './tree.ts';

/** What a commit of a folder would have otherwise than the folder as it lies on the disk. Paths are those in the folder. */
export interface UnlikeDisk {
  /** Whether the commit would lack a file, since git ignores it. */
  isIgnored(path: string): boolean;
  /** What it would have though it need not lie on the disk: what a sparse checkout leaves out, and submodules. */
  kept: readonly TreeEntry[];
}

/** The letter of an entry that a sparse checkout leaves out. */
const LEFT_OUT = 'S';

/** Reads the rules of `.gitignore` and the index. In a folder of which git ignores everything, nothing counts as ignored. */
export async function readUnlikeDisk({ context, prefix }: Repository): Promise<UnlikeDisk> {
  const below = prefix === '' ? '' : `${prefix}/`;
  const inFolder = (path: string): string => path.slice(below.length).replace(/\/$/, '');
  const listed = await runGit(context, commands.ignored(prefix));
  const ignored = listed.split('\0').filter((path) => path !== '' && !below.startsWith(path));
  const names = new Set(ignored.map(inFolder));
  const index = parseIndexList(await runGit(context, commands.indexEntries(prefix)));
  return {
    isIgnored: (path) => ancestry(path).some((name) => names.has(name)),
    kept: index
      .filter(({ letter, type }) => letter === LEFT_OUT || type === 'submodule')
      .map(({ path, type, blob }) => ({ path: inFolder(path), type, blob })),
  };
}

/** A path and those of the folders that it is in. */
function ancestry(path: string): string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'));
}
