import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { isAtWork, isOpen } from './holders.ts';
import { DEAD_AFTER, DEAD_AFTER_BLINDLY, foldersOf } from './locks.ts';
import type { Repository } from './repository.ts';

/** A pack that is not whole yet. */
const UNFINISHED = /^tmp_(pack|idx|rev)_/;
/** A pack that a living process needs as it is, or that a person wants to keep. */
const KEPT = /^pack-.*\.keep$/;
/** What the first kind of them holds, where a `fast-import` made it. */
const KEPT_BY_WRITER = 'fast-import';

/**
 * Takes away what a writer of commits that was killed left among the packs: nobody would ever join the packs that it
 * marked, and git removes neither marks nor halves for weeks. Nothing is done while any git works in the repository.
 */
export async function clearLeftPacks(repository: Repository): Promise<void> {
  const folder = `${repository.commonFolder}/objects/pack`;
  const names = await readdir(folder).catch((): string[] => []);
  const left = names.filter((name) => UNFINISHED.test(name) || KEPT.test(name));
  if (left.length === 0) return;
  const isBusy = await isAtWork(foldersOf(repository));
  if (isBusy === true) return;
  for (const name of left) {
    const path = `${folder}/${name}`;
    // A mark goes with the process that made it, and that would be seen; half a pack may be somebody's from elsewhere.
    const age = isBusy === null ? DEAD_AFTER_BLINDLY : KEPT.test(name) ? 0 : DEAD_AFTER;
    if (await isLeft(path, age)) await unlink(path).catch(() => undefined);
  }
}

async function isLeft(path: string, age: number): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || Date.now() - found.mtimeMs < age) return false;
  if (!path.endsWith('.keep')) return (await isOpen(path)) !== true;
  return (await readFile(path, 'latin1').catch(() => '')).trim() === KEPT_BY_WRITER;
}
