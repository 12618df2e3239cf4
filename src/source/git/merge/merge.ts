import { copyFile, rm } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { Queue } from '../../../async/queue.ts';
import type { Merged, Source } from '../../source.ts';
import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { asUnavailable } from '../process/guarded.ts';
import { runGit, runGitEitherWay } from '../process/run.ts';
import { findFolder } from '../read/folder-tree.ts';
import { type ObjectReader, openObjects } from '../read/objects.ts';
import { parseTreeList } from '../read/tree.ts';
import { makeBorrowing, ownRepository } from '../repository/borrowing.ts';
import { isShallow, type Machine, type Repository } from '../repository/repository.ts';

/**
 * KiB. A branch of a few kilobytes can name one folder so often that git would need all memory of the machine; it merges
 * 100,000 files in less than a tenth of this.
 */
const MEMORY_LIMIT = 2 ** 20;
/** How much of the packs git maps, which counts as memory. */
const SETTINGS = [
  ['core.packedGitWindowSize', '32m'],
  ['core.packedGitLimit', '256m'],
] as const;

/**
 * Creates the merges of a repository. Each is made in a repository of its own in the data folder, which borrows the objects
 * and is removed afterwards: so nothing of it stays, and no driver or filter that the repository names can run. Removes what
 * a killed process left of one.
 */
export async function createMerge(
  lender: Repository,
  dataFolder: string,
  machine: Machine,
  memoryLimit = MEMORY_LIMIT,
): Promise<Source['merge']> {
  const plain = ownRepository(join(dataFolder, 'merge.git'), lender.prefix, machine);
  const own = {
    ...plain,
    context: { ...plain.context, env: withConfig(plain.context.env, SETTINGS), memoryLimit },
  };
  await rm(own.gitFolder, { recursive: true, force: true });
  const queue = new Queue();
  return (base, revision, use) =>
    queue.run(async () => {
      const objects = openObjects(own.context);
      try {
        await makeBorrowing(own, lender);
        return await use(
          await asUnavailable(
            () => merge(own, lender, objects, [base, revision]),
            'git could not merge the revision into the followed branch',
          ),
        );
      } finally {
        await objects.close();
        await rm(own.gitFolder, { recursive: true, force: true });
      }
    });
}

async function merge(
  own: Repository,
  lender: Repository,
  objects: ObjectReader,
  [base, revision]: readonly [string, string],
): Promise<Merged> {
  // Otherwise git would miss the parents of the oldest commits.
  if (await isShallow(lender)) await copyFile(`${lender.commonFolder}/shallow`, `${own.gitFolder}/shallow`);
  const output = await runGitEitherWay(own.context, commands.mergeTree(base, revision));
  const [tree = '', ...names] = output.split('\0').filter(Boolean);
  const folder = await findFolder(own, objects, tree);
  const listed = folder === null ? [] : parseTreeList(await runGit(own.context, commands.listTree(folder)));
  const conflicts = new Set(names.map((name) => posix.relative(own.prefix, name.replace(ASIDE, ''))));
  const files = listed.filter(({ path }) => !ASIDE.test(path));
  return { files, blob: (id, maxBytes) => objects.blob(id, maxBytes), conflicts: [...conflicts] };
}

/** What git puts behind the name of a file that a folder is in the way of: the id of the commit that it is from. */
const ASIDE = /~[0-9a-f]{40,64}(?:_\d+)?$/;
