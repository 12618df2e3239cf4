import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import * as z from 'zod';
import { HoldfastError } from '../../errors.ts';
import { type Database, openExclusively } from '../../sqlite/connection.ts';
import { type FileNames, isBusy, storeError } from '../../sqlite/errors.ts';

/** The holder of a lock, for the error message that a second manager gets. */
const Holder = z.object({
  pid: z.int(),
  /** ISO 8601. */
  since: z.string(),
  address: z.string().nullable(),
});
type Holder = z.infer<typeof Holder>;

/** An exclusive lock on a data folder, which ends with `release` or with the process, however that ends. */
export interface FolderLock {
  /** Stores the address at which this process listens, for the error message that a second manager gets. */
  recordAddress(address: string): Promise<void>;
  release(): void;
}

/**
 * Locks a data folder for this process. The lock is the operating system's, on an SQLite file that is opened
 * exclusively. `now` is Unix milliseconds. Rejects as `unavailable` if another process holds the lock, which the
 * message names, and if the folder cannot be written.
 */
export async function lockFolder(folder: string, pid: number, now: number): Promise<FolderLock> {
  const holderPath = `${folder}/manager.json`;
  const db = await open(`${folder}/manager.lock`, holderPath);
  const holder: Holder = { pid, since: new Date(now).toISOString(), address: null };
  const recordAddress = async (address: string | null): Promise<void> => {
    holder.address = address;
    // The lock holds without this file. On a full disk, the message to a second manager does not name the holder.
    await writeHolder(holderPath, holder).catch(() => rm(holderPath, { force: true }));
  };
  await recordAddress(null);
  return { recordAddress, release: () => void (db.isOpen && db.close()) };
}

async function open(path: string, holderPath: string): Promise<Database> {
  try {
    return openExclusively(path);
  } catch (error) {
    throw isBusy(error) ? inUse(await readHolder(holderPath), error) : unusable(error);
  }
}

async function writeHolder(path: string, holder: Holder): Promise<void> {
  await writeFile(`${path}.new`, `${JSON.stringify(holder)}\n`, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

async function readHolder(path: string): Promise<Holder | null> {
  try {
    return Holder.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch {
    return null;
  }
}

function inUse(holder: Holder | null, cause: unknown): HoldfastError {
  const place = holder?.address == null ? '' : `, at ${holder.address}`;
  const who = holder === null ? '' : ` (process ${holder.pid}, since ${holder.since}${place})`;
  const message = `DATA_DIR is in use by another manager${who}; stop that one, or give this one a folder of its own`;
  return new HoldfastError('unavailable', message, {}, cause);
}

const LOCK_FILE: FileNames = { subject: 'it', remedy: 'delete it' };

function unusable(cause: unknown): HoldfastError {
  const known = storeError(cause, LOCK_FILE);
  const reason = known instanceof HoldfastError ? known.message : 'see the log';
  return new HoldfastError('unavailable', `manager.lock in DATA_DIR cannot be used: ${reason}`, {}, cause);
}
