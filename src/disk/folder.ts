import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { syncFoldersUpTo } from './sync.ts';

const OWNER_ONLY = 0o700;

/**
 * Creates a folder and its missing parents; resolves to the topmost folder that was created, or null if the folder
 * existed. Node's recursive `mkdir` never returns if a parent allows no new folders (`/proc`).
 */
export async function makeFolder(folder: string): Promise<string | null> {
  const make = (): Promise<string | null> =>
    mkdir(folder, { mode: OWNER_ONLY }).then(
      () => folder,
      (error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') return null;
        throw error;
      },
    );
  try {
    return await make();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const topmost = await makeFolder(dirname(folder));
  return (await make()) === null ? topmost : (topmost ?? folder);
}

/**
 * Creates a folder if it is missing: accessible to its owner only, whatever the umask is, ignored by git, and synced to
 * the disk. Resolves to whether it was created.
 */
export async function makeOwnFolder(folder: string): Promise<boolean> {
  const topmost = await makeFolder(folder);
  if (topmost === null) return false;
  await chmod(folder, OWNER_ONLY);
  await writeFile(`${folder}/.gitignore`, '*\n', { mode: 0o600 });
  await syncFoldersUpTo(dirname(topmost), folder);
  return true;
}
