import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAtWork, isOpen } from '../work-tree/holders.ts';
import { allFoldersOf, DEAD_AFTER, DEAD_AFTER_BLINDLY, type Folders } from '../work-tree/locks.ts';
import type { Repository } from './repository.ts';

/**
 * A pack that is not whole yet, or that a `repack` has not named yet. A git that fails or is ended leaves the first
 * kind, as large as it was by then; no git removes the second one but that which made it.
 */
const UNFINISHED = /^tmp_(pack|idx|rev|mtimes)_|^\.tmp-\d+-pack-/;
/** A pack that a living process needs as it is, or that a person wants to keep. */
const KEPT = /^pack-.*\.keep$/;
/** What the first kind of them holds, where a `fast-import` made it. */
const KEPT_BY_WRITER = 'fast-import';
/** What a `fast-import` that fails writes about it. */
const REPORT = /^fast_import_crash_\d+$/;

/**
 * Takes away what a writer of commits that was killed left among the packs: nobody would ever join the packs that it
 * marked, and git removes neither marks nor halves for weeks. Nothing is done while any git works in the repository.
 */
export async function clearLeftPacks(repository: Repository): Promise<void> {
  const names = await namesOfPacks(repository);
  await clear(
    repository,
    names.filter((name) => UNFINISHED.test(name) || KEPT.test(name)),
  );
}

function namesOfPacks({ commonFolder }: Pick<Repository, 'commonFolder'>): Promise<string[]> {
  return readdir(`${commonFolder}/objects/pack`).catch((): string[] => []);
}

async function clear(repository: Repository, left: readonly string[]): Promise<void> {
  if (left.length === 0) return;
  const isBusy = await isAtWork(await allFoldersOf(repository));
  if (isBusy === true) return;
  for (const name of left) {
    const path = `${repository.commonFolder}/objects/pack/${name}`;
    // A mark goes with the process that made it, and that would be seen; half a pack may be somebody's from elsewhere.
    const age = isBusy === null ? DEAD_AFTER_BLINDLY : KEPT.test(name) ? 0 : DEAD_AFTER;
    if (await isLeft(path, age)) await remove(path);
  }
}

/** Times of files lag behind the clock by this much at most (milliseconds). */
const LAG = 100;

/**
 * Takes away the halves of packs that a clean-up has left which failed or was ended: they can be all that the disk had
 * room for. `before` are the names from before it began. Waits until a half that somebody else is at would be younger;
 * where `signal` ends that, they stay, for the next start. Marks stay: those of a writer of this process look the same.
 */
export async function clearFailedJoin(
  repository: Repository,
  before: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const names = await namesOfPacks(repository);
  const left = names.filter((name) => UNFINISHED.test(name) && !before.includes(name));
  if (left.length === 0) return;
  await sleep(DEAD_AFTER + LAG, undefined, { signal }).catch(() => undefined);
  if (!signal.aborted) await clear(repository, left);
}

async function isLeft(path: string, age: number): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || Date.now() - found.mtimeMs < age) return false;
  if (!path.endsWith('.keep')) return (await isOpen(path)) !== true;
  return (await readFile(path, 'latin1').catch(() => '')).trim() === KEPT_BY_WRITER;
}

/**
 * Takes away what a writer of commits of this process left when it failed: its report, halves of packs, and the marks
 * of its packs, which nobody would join and which would keep the next writer from making a pack once more. While another
 * git works in the repository, only a mark whose pack never came to be is surely not one of its own. Its own half is too
 * young by now: on a disk that stays full, each failure clears away what those before it left.
 */
export async function clearFailedWriter(folders: Folders): Promise<void> {
  const { gitFolder, commonFolder } = folders;
  const folder = `${commonFolder}/objects/pack`;
  const names = new Set(await namesOfPacks(folders));
  const isAlone = (await isAtWork(await allFoldersOf(folders))) === false;
  const marks = [...names].filter((name) => KEPT.test(name));
  for (const mark of marks.filter((name) => isAlone || !names.has(name.replace(/keep$/, 'pack')))) {
    if (await isLeft(`${folder}/${mark}`, 0)) await remove(`${folder}/${mark}`);
  }
  for (const half of [...names].filter((name) => isAlone && UNFINISHED.test(name))) {
    if (await isLeft(`${folder}/${half}`, DEAD_AFTER)) await remove(`${folder}/${half}`);
  }
  await removeReports(gitFolder, isAlone);
}

async function removeReports(gitFolder: string, isAlone: boolean): Promise<void> {
  const reports = (await readdir(gitFolder).catch((): string[] => [])).filter((name) => REPORT.test(name));
  const ours = new RegExp(`^ *parent process *: ${process.pid}$`, 'm');
  for (const report of reports) {
    const text = await readFile(`${gitFolder}/${report}`, 'latin1').catch(() => null);
    // On a full disk a report stays without a word.
    const isOurs = text === '' ? isAlone : text !== null && ours.test(text);
    if (isOurs) await remove(`${gitFolder}/${report}`);
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}
