import { createHash } from 'node:crypto';
import { constants, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRepository } from './git.ts';

/** The state of a checkout. */
export interface Checkout {
  /** The output of `git status`: the commit, the branch, and every changed, staged or untracked file. */
  status: string;
  /** The changes of these files, staged and unstaged. */
  differences: string;
}

const cache = new WeakMap<TestRepository, { bytes: string; checkout: Checkout }>();

/**
 * The state of a checkout. Hundreds of tests compare it before and after a request that changes nothing, so git is run
 * again only if a byte of what it reads has changed.
 */
export async function checkoutOf(repository: TestRepository): Promise<Checkout> {
  const bytes = bytesOf(repository.folder);
  const known = cache.get(repository);
  if (known !== undefined && known.bytes === bytes) return known.checkout;
  const checkout = await askGit(repository);
  // The answer is not kept if something changed while git ran, such as the index by git itself.
  if (bytes !== null && bytes === bytesOf(repository.folder)) cache.set(repository, { bytes, checkout });
  return checkout;
}

async function askGit({ git }: TestRepository): Promise<Checkout> {
  const status = await git('status', '--porcelain=v2', '--branch', '--untracked-files=all');
  const isClean = status.split('\n').every((line) => line.startsWith('# '));
  const differences = isClean ? '' : `${await git('diff')}\n${await git('diff', '--cached')}`;
  return { status, differences };
}

/**
 * What the answer of git depends on besides the files of the work tree and loose refs, if it exists. Objects never
 * change, and of refs in tables, the list names another table after each change.
 */
const IN_GIT_FOLDER = [
  'HEAD',
  'config',
  'index',
  'info/attributes',
  'info/exclude',
  'packed-refs',
  'reftable/tables.list',
];

/** A hash of every byte that the answer of git depends on; null if these files cannot be read. */
function bytesOf(folder: string): string | null {
  const git = join(folder, '.git');
  const hash = createHash('sha256');
  try {
    const [inWorkTree, refs] = [filesBelow(folder, '.git'), filesBelow(join(git, 'refs'))];
    const existing = IN_GIT_FOLDER.map((name) => join(git, name)).filter((path) => existsSync(path));
    for (const path of [...inWorkTree, ...refs, ...existing]) {
      const { mode } = lstatSync(path);
      const content =
        (mode & constants.S_IFMT) === constants.S_IFLNK ? readlinkSync(path) : readFileSync(path);
      hash.update(`${path}\0${mode}\0${content.length}\0`).update(content);
    }
    return hash.digest('hex');
  } catch {
    return null;
  }
}

function filesBelow(folder: string, except?: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (entry.name === except) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}
