import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { makeOwnFolder } from '../../disk/folder.ts';
import { descriptorAdvice, HoldfastError, messageOf } from '../../errors.ts';
import { type FolderLock, lockFolder } from './folder-lock.ts';

/** The permission bits of the group and of all others. */
const OTHERS = 0o077;

/** The files in the folder that only the manager may read. */
const SECRET_FILES = [
  'admin.json',
  'manager.json',
  'manager.lock',
  'store.sqlite',
  'store.sqlite-shm',
  'store.sqlite-wal',
  'transfer.gitconfig',
];

/**
 * Opens the data folder and resolves to its absolute path. A missing folder is created, accessible to its owner only
 * and ignored by git. An existing folder keeps its mode, since others may use it: if other users can enter it, that is
 * logged, and only the manager's own files are closed to them. Rejects as `unavailable`, with the path and the remedy.
 */
export async function openDataFolder(path: string, logger: Logger): Promise<string> {
  const folder = resolve(path);
  try {
    if (!(await makeOwnFolder(folder))) await useExisting(folder, logger);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(folder, error);
  }
  return folder;
}

/** Locks the folder for this process (`lockFolder`); errors name the folder. `now` is Unix milliseconds. */
export async function lockDataFolder(folder: string, now: number): Promise<FolderLock> {
  try {
    return await lockFolder(folder, process.pid, now);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new HoldfastError(error.kind, `${error.message} (DATA_DIR is ${folder})`, {}, error);
  }
}

async function useExisting(folder: string, logger: Logger): Promise<void> {
  const found = await stat(folder);
  if (!found.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  if ((found.mode & OTHERS) === 0) return;
  const mode = (found.mode & 0o7777).toString(8);
  const remedy = `if nobody else uses it, run: chmod 700 ${quoted(folder)}`;
  logger.warn(
    { data: folder, mode },
    `other users may enter DATA_DIR; give the manager a folder of its own, or, ${remedy}`,
  );
  for (const name of SECRET_FILES) await closeToOthers(`${folder}/${name}`);
}

/**
 * Removes the permissions of other users from a file. A link is left alone, since its target may not be the manager's.
 */
async function closeToOthers(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
  if (file === null) return;
  try {
    const { mode } = await file.stat();
    if ((mode & OTHERS) !== 0) await file.chmod(mode & 0o700);
  } finally {
    await file.close();
  }
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}

function unusable(folder: string, error: unknown): HoldfastError {
  const message = `DATA_DIR cannot be used: ${folder} ${reasonOf(error)}`;
  return new HoldfastError('unavailable', message, {}, error);
}

const REMEDY = 'set DATA_DIR to a folder that the manager may write to';

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM')
    return `may not be created, entered or written by the user ${userName()}; create it as root (install -d -o USER -m 700), or ${REMEDY}`;
  if (code === 'ENOTDIR') return `is a file, or is below one; ${REMEDY}`;
  if (code === 'ENOENT') return `cannot be created there; ${REMEDY}`;
  if (code === 'EROFS') return `is on a read-only file system; ${REMEDY}`;
  const advice = descriptorAdvice(code ?? '');
  if (advice !== null) return `cannot be opened: ${advice}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'has no space left on its disk; make room there';
  return `(${code ?? messageOf(error)}); ${REMEDY}`;
}

/** Returns the user's name, or the number if the machine has no name for it, as in containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}
