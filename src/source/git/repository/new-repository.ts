import { mkdir, open, readdir, rm, rmdir, unlink } from 'node:fs/promises';
import { exists } from '../../../disk/exists.ts';
import { syncFolder } from '../../../disk/sync.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Faults } from '../../../faults.ts';
import { commands } from '../process/commands.ts';
import { emptyTreeIdLike } from '../process/object-ids.ts';
import { type GitContext, runGit } from '../process/run.ts';
import { contextOf, findRepository, type Machine, type Repository } from './repository.ts';

/** Name of the file in `.git` that marks a repository whose first commit is not made yet: all of it is ours. */
const UNFINISHED = 'holdfast-unfinished';

/** Names that may be at the top of a desired-state folder. */
const EXPECTED = /^(apps|device-groups|\.git(ignore|attributes|keep)|[^.].*\.md|README.*|LICENSE.*)$/i;
/** Most unexpected names that the error lists. */
const MOST_NAMES = 3;

/**
 * Makes a repository of a folder that is in none, with everything in the folder as the first commit; if that fails, no
 * repository stays behind. Rejects as `invalid` if the folder contains anything but desired state: a home folder, for
 * example, has keys that belong in no commit.
 */
export async function createRepository(
  folder: string,
  machine: Machine,
  faults: Faults,
): Promise<Repository> {
  await refuseUnexpected(folder);
  const context = contextOf(folder, machine, [folder]);
  const mark = `${folder}/.git/${UNFINISHED}`;
  await mkdir(`${folder}/.git`);
  try {
    await createMark(mark);
    await syncFolder(`${folder}/.git`);
    await runGit(context, commands.init());
    faults.pass('repository-begun');
    const repository = await commitAll(context, folder, machine);
    await unlink(mark);
    await syncFolder(`${folder}/.git`);
    return repository;
  } catch (error) {
    // The next start would take half a repository for a complete one with an empty fleet.
    await rm(`${folder}/.git`, { recursive: true, force: true });
    throw error;
  }
}

async function refuseUnexpected(folder: string): Promise<void> {
  const unexpected = (await readdir(folder)).filter((name) => !EXPECTED.test(name));
  if (unexpected.length === 0) return;
  const more = unexpected.length > MOST_NAMES ? ', …' : '';
  const names = unexpected.sort().slice(0, MOST_NAMES).join(', ');
  throw new HoldfastError(
    'invalid',
    `${folder} is not in a git repository, and contains more than a desired state (${names}${more}); ` +
      'set DESIRED_STATE to the right folder, or run "git init" there and commit what belongs to it',
  );
}

/** Removes the folder's repository if its creation was cut short: nothing in it is anyone else's. */
export async function dropUnfinished(folder: string): Promise<void> {
  // A creation that was cut short before the mark leaves an empty `.git`; `rmdir` keeps any other.
  await rmdir(`${folder}/.git`).catch(() => undefined);
  if (await exists(`${folder}/.git/${UNFINISHED}`))
    await rm(`${folder}/.git`, { recursive: true, force: true });
}

async function createMark(path: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  await file.sync();
  await file.close();
}

async function commitAll(context: GitContext, folder: string, machine: Machine): Promise<Repository> {
  await runGit(context, commands.addAll());
  const tree = (await runGit(context, commands.writeTree())).trim();
  const repository = await findRepository(folder, machine);
  if (repository === null) throw new HoldfastError('unavailable', 'git init made no repository');
  if (tree !== emptyTreeIdLike(tree)) await commitFirst(repository, tree);
  return repository;
}

async function commitFirst({ context }: Repository, tree: string): Promise<void> {
  const message = 'Take the desired state under version control\n';
  const commit = (await runGit(context, commands.commitTree(tree), message)).trim();
  const branch = (await runGit(context, commands.symbolicHead())).trim();
  await runGit(context, commands.updateRefs(), `create ${branch}\0${commit}\0`);
}
