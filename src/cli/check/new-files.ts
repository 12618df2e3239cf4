import { lstat, mkdir, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { DesiredState } from '../../desired/state.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import { listFolder, loadWorkTree } from './work-tree.ts';

/** Reads the objects of a folder, also those that git ignores. */
export async function readObjects(folder: string, defaults: AppDefaults): Promise<DesiredState> {
  const { state } = await loadWorkTree(folder, await listFolder(folder), defaults, null);
  return state;
}

/**
 * Creates a file and its folder; rejects if the path is taken. A file that cannot be written whole is removed again. A
 * folder that is a link is refused, since a commit would not contain the file.
 */
export async function writeNew(path: string, text: string): Promise<void> {
  const parent = dirname(path);
  await mkdir(parent, { recursive: true });
  if ((await lstat(parent)).isSymbolicLink()) throw Object.assign(new Error(parent), { code: 'ENOTDIR' });
  const file = await open(path, 'wx');
  try {
    await file.writeFile(text).finally(() => file.close());
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

/** Resolves to false if a file or folder cannot be created because its path, or a parent's, is taken. */
export async function tryCreate(creation: Promise<unknown>): Promise<boolean> {
  try {
    await creation;
    return true;
  } catch (error) {
    if (!['EEXIST', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return false;
  }
}
