import { open, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { ignoreMissing } from '../../disk/exists.ts';

/** Milliseconds after which a file was left by a process that was killed: nobody has a turn for so long. */
const STALE = 30_000;
/** Milliseconds between two tries. */
const PAUSE = 20;

/**
 * Waits until no other process has its turn, which a file at this path shows, and begins one. Resolves to what ends it.
 * Rejects with the error of the system if the file cannot be created.
 */
export async function takeTurn(path: string): Promise<() => Promise<void>> {
  while (!(await create(path))) {
    if (await isStale(path)) await rm(path, { force: true });
    else await sleep(PAUSE);
  }
  return () => rm(path, { force: true }).catch(() => undefined);
}

async function create(path: string): Promise<boolean> {
  try {
    await (await open(path, 'wx', 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** A file of the future was left before the clock was set back. */
async function isStale(path: string): Promise<boolean> {
  const found = await stat(path).catch(ignoreMissing);
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > STALE;
}
