import { constants } from 'node:fs';
import { access, chmod, mkdir, open, stat, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve } from 'node:path';
import type { Logger } from 'pino';
import { syncFoldersUpTo } from '../../disk/sync.ts';
import { descriptorTrouble, HoldfastError, messageOf } from '../../errors.ts';
import { type FolderLock, lockFolder } from '../../store/sqlite/folder-lock.ts';

/** Bits of a mode by which others than the owner may do something. */
const OTHERS = 0o077;
const OWNER_ONLY = 0o700;

/** Files in the folder that only the manager may read. */
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
 * Makes the data folder where it is missing, for its owner alone and hidden from git; resolves to its absolute path. A
 * folder that was there keeps its mode, since it can be one that others use: where these may enter it, the log says so,
 * and only the manager's own files are closed to them. Rejects as `unavailable`, with the path and what to do.
 */
export async function openDataFolder(path: string, logger: Logger): Promise<string> {
  const folder = resolve(path);
  const made = await makeFolder(folder).catch((error) => {
    throw unusable(folder, error);
  });
  try {
    if (made === null) await useFolder(folder, logger);
    else await settleFolder(folder, made);
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    throw unusable(folder, error);
  }
  return folder;
}

/**
 * Takes the folder for this process (`lockFolder`); an error says which folder it is about. `now` is Unix milliseconds.
 */
export async function lockDataFolder(folder: string, now: number): Promise<FolderLock> {
  try {
    return await lockFolder(folder, process.pid, now);
  } catch (error) {
    if (!(error instanceof HoldfastError)) throw error;
    throw new HoldfastError(error.kind, `${error.message} (DATA_DIR is ${folder})`, {}, error);
  }
}

/**
 * Makes a folder and those above it; resolves to the topmost one that was made, or null where it was there. Node's own
 * recursive `mkdir` does not end where a folder takes no other (`/proc`).
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
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(folder) === folder) throw error;
  }
  const above = await makeFolder(dirname(folder));
  return (await make()) === null ? above : (above ?? folder);
}

/** Completes a new folder: its mode whatever the umask, a file that hides it from git, and its name on the disk. */
async function settleFolder(folder: string, made: string): Promise<void> {
  await chmod(folder, OWNER_ONLY);
  await writeFile(`${folder}/.gitignore`, '*\n', { mode: 0o600 });
  await syncFoldersUpTo(dirname(made), folder);
}

async function useFolder(folder: string, logger: Logger): Promise<void> {
  const found = await stat(folder);
  if (!found.isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' });
  if ((found.mode & OTHERS) === 0) return;
  const mode = (found.mode & 0o7777).toString(8);
  const mend = `if nobody else uses it, run: chmod 700 ${quoted(folder)}`;
  logger.warn(
    { data: folder, mode },
    `other users may enter DATA_DIR; give the manager a folder of its own, or, ${mend}`,
  );
  for (const name of SECRET_FILES) await closeToOthers(`${folder}/${name}`);
}

/** A link is left alone: what it leads to is not known to be the manager's. */
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

const NEEDED = 'set DATA_DIR to a folder that the manager may write to';

function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EACCES' || code === 'EPERM')
    return `may not be created, entered or written by the user ${userName()}; create it as root (install -d -o USER -m 700), or ${NEEDED}`;
  if (code === 'ENOTDIR') return `is a file, or is below one; ${NEEDED}`;
  if (code === 'ENOENT') return `cannot be created there; ${NEEDED}`;
  if (code === 'EROFS') return `is on a read-only file system; ${NEEDED}`;
  const trouble = descriptorTrouble(code ?? '');
  if (trouble !== null) return `cannot be opened: ${trouble}`;
  if (code === 'ENOSPC' || code === 'EDQUOT') return 'has no space left on its disk; make room there';
  return `(${code ?? messageOf(error)}); ${NEEDED}`;
}

/** Its number where the machine has no name for it, as in containers. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.getuid?.() ?? '');
  }
}
