import { mkdir, open, readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { syncFolder } from '../../../disk/sync.ts';
import { isThere } from '../../../disk/there.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import { commands, emptyTreeLike } from '../process/commands.ts';
import { type GitContext, runGit } from '../process/run.ts';
import { contextOf, findRepository, type Machine, type Repository } from './repository.ts';

/** In a repository that has it, the first commit is not made yet, and all of it is ours. */
const UNFINISHED = 'holdfast-unfinished';

/** What a folder of desired state has at its top. */
const EXPECTED = /^(apps|device-groups|\.git(ignore|attributes|keep)|[^.].*\.md|README.*|LICENSE.*)$/i;
/** So many names are told of what does not belong there. */
const MOST_NAMES = 3;

/**
 * Makes a repository of a folder that is in none, with everything in it as the first commit; or none at all. Rejects as
 * `invalid` where something else than desired state is in it: a home folder, say, has keys that belong into no commit.
 */
export async function createRepository(
  folder: string,
  machine: Machine,
  faults: Faults,
): Promise<Repository> {
  await refuseOther(folder);
  const context = contextOf(folder, machine, [folder]);
  const mark = `${folder}/.git/${UNFINISHED}`;
  await mkdir(`${folder}/.git`);
  try {
    await markUnfinished(mark);
    await syncFolder(`${folder}/.git`);
    await runGit(context, commands.init());
    faults.pass('repository-begun');
    const repository = await commitAll(context, folder, machine);
    await unlink(mark);
    await syncFolder(`${folder}/.git`);
    return repository;
  } catch (error) {
    // Half a repository would be taken for a whole one at the next start, with a fleet of nothing.
    await rm(`${folder}/.git`, { recursive: true, force: true });
    throw error;
  }
}

async function refuseOther(folder: string): Promise<void> {
  const others = (await readdir(folder)).filter((name) => !EXPECTED.test(name));
  if (others.length === 0) return;
  const more = others.length > MOST_NAMES ? ', …' : '';
  const names = others.sort().slice(0, MOST_NAMES).join(', ');
  throw new HoldfastError(
    'invalid',
    `${folder} is not in a git repository, and contains more than a desired state (${names}${more}); ` +
      'set DESIRED_STATE to the right folder, or run "git init" there and commit what belongs to it',
  );
}

/** Removes the repository of a folder whose making was cut short: nothing of anybody else is in it. */
export async function dropUnfinished(folder: string): Promise<void> {
  // Cut short before it could be marked; a folder with anything in it stays.
  await rmdir(`${folder}/.git`).catch(() => undefined);
  if (await isThere(`${folder}/.git/${UNFINISHED}`))
    await rm(`${folder}/.git`, { recursive: true, force: true });
}

async function markUnfinished(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  await file.sync();
  await file.close();
}

async function commitAll(context: GitContext, folder: string, machine: Machine): Promise<Repository> {
  await runGit(context, commands.addAll());
  const tree = (await runGit(context, commands.writeTree())).trim();
  const repository = await findRepository(folder, machine);
  if (repository === null) throw new HoldfastError('unavailable', 'git init made no repository');
  if (tree !== emptyTreeLike(tree)) await commitFirst(repository, tree);
  return repository;
}

async function commitFirst({ context }: Repository, tree: string): Promise<void> {
  const message = 'Take the desired state under version control\n';
  const commit = (await runGit(context, commands.commitTree(tree), message)).trim();
  const branch = (await runGit(context, commands.symbolicHead())).trim();
  await runGit(context, commands.updateRefs(), `create ${branch}\0${commit}\0`);
}
