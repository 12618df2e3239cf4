import { createHash } from 'node:crypto';
import { constants, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { TestRepository } from './git.ts';

/** A checkout beside its branch and its index. */
export interface Checkout {
  /** Head, branch, and every file with uncommitted, staged or unknown content, as `git status` tells them. */
  status: string;
  /** What differs in those files. */
  differences: string;
}

const remembered = new WeakMap<TestRepository, { bytes: string; checkout: Checkout }>();

/**
 * How a checkout stands. Hundreds of rows look before and after a request that changes nothing: git is asked again only
 * where a byte differs of what it would look at.
 */
export async function checkoutOf(repository: TestRepository): Promise<Checkout> {
  const bytes = bytesOf(repository.folder);
  const known = remembered.get(repository);
  if (known !== undefined && known.bytes === bytes) return known.checkout;
  const checkout = await askGit(repository);
  // What changed while git looked, also by git itself, is not known.
  if (bytes !== null && bytes === bytesOf(repository.folder)) remembered.set(repository, { bytes, checkout });
  return checkout;
}

async function askGit({ git }: TestRepository): Promise<Checkout> {
  const status = await git('status', '--porcelain=v2', '--branch', '--untracked-files=all');
  const isClean = status.split('\n').every((line) => line.startsWith('# '));
  const differences = isClean ? '' : `${await git('diff')}\n${await git('diff', '--cached')}`;
  return { status, differences };
}

/**
 * What git's answer comes from besides the files and objects, which never change; not all are always there. Of refs in
 * tables, the list names a new one after each change.
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

/** A hash of every byte that git's answer comes from; null where plain files do not tell it. */
function bytesOf(folder: string): string | null {
  const git = join(folder, '.git');
  const hash = createHash('sha256');
  try {
    const [inWorkTree, refs] = [filesBelow(folder, '.git'), filesBelow(join(git, 'refs'))];
    const known = IN_GIT_FOLDER.map((name) => join(git, name)).filter((path) => existsSync(path));
    for (const path of [...inWorkTree, ...refs, ...known]) {
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
