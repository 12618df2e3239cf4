import { readdir, readFile, stat, unlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { isGitWriting, isOpen } from '../work-tree/holders.ts';
import { allFoldersOf, DEAD_AFTER, DEAD_AFTER_BLINDLY, type Folders } from '../work-tree/locks.ts';
import type { Repository } from './repository.ts';

/**
 * Files of a pack that is incomplete (`tmp_`), or that a `repack` has not given its final name yet (`.tmp-`). A git
 * that fails or is killed leaves the former behind, at the size they had reached. The latter are removed only by the
 * process that made them.
 */
const UNFINISHED = /^tmp_(pack|idx|rev|mtimes)_|^\.tmp-\d+-pack-/;
/** Marks a pack that a running process needs unchanged, or that a user wants to keep. */
const KEEP_MARK = /^pack-.*\.keep$/;
/** Content of a keep mark that `fast-import` made. */
const FAST_IMPORT_MARK = 'fast-import';
/** The report that a failing `fast-import` writes. */
const CRASH_REPORT = /^fast_import_crash_\d+$/;

/**
 * Removes what a killed commit writer left among the packs: keep marks, whose packs would never be joined, and
 * unfinished packs. git itself removes neither for weeks. Does nothing while any git process works in the repository.
 */
export async function removeStalePackFiles(repository: Repository): Promise<void> {
  const names = await packFileNames(repository);
  await removeStale(
    repository,
    names.filter((name) => UNFINISHED.test(name) || KEEP_MARK.test(name)),
  );
}

function packFileNames({ commonFolder }: Pick<Repository, 'commonFolder'>): Promise<string[]> {
  return readdir(`${commonFolder}/objects/pack`).catch((): string[] => []);
}

async function removeStale(repository: Repository, names: readonly string[]): Promise<void> {
  if (names.length === 0) return;
  const isBusy = await isGitWriting(await allFoldersOf(repository));
  if (isBusy === true) return;
  for (const name of names) {
    const path = `${repository.commonFolder}/objects/pack/${name}`;
    // The process behind a keep mark would have been seen; that of an unfinished pack may not be visible here.
    const minimumAge = isBusy === null ? DEAD_AFTER_BLINDLY : KEEP_MARK.test(name) ? 0 : DEAD_AFTER;
    if (await isStale(path, minimumAge)) await remove(path);
  }
}

/** File times lag behind the clock by this much at most (milliseconds). */
const LAG = 100;

/**
 * Removes the unfinished packs of a clean-up that failed or was ended: they can occupy all the space that the disk had
 * left. `before` lists the file names from before the clean-up. Waits first, so that a pack which another process is
 * still writing can be told by its age; if `signal` aborts the wait, the files stay until the next start. Keep marks
 * stay, too: those of this process's own writer look the same.
 */
export async function removeFailedJoin(
  repository: Repository,
  before: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const names = await packFileNames(repository);
  const added = names.filter((name) => UNFINISHED.test(name) && !before.includes(name));
  if (added.length === 0) return;
  await sleep(DEAD_AFTER + LAG, undefined, { signal }).catch(() => undefined);
  if (!signal.aborted) await removeStale(repository, added);
}

/**
 * Whether a file was left behind: it is at least `minimumAge` milliseconds old and, if it is a keep mark, `fast-import`
 * made it; otherwise, no process has it open.
 */
async function isStale(path: string, minimumAge: number): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  if (found === null || Date.now() - found.mtimeMs < minimumAge) return false;
  if (!path.endsWith('.keep')) return (await isOpen(path)) !== true;
  return (await readFile(path, 'latin1').catch(() => '')).trim() === FAST_IMPORT_MARK;
}

/**
 * Removes what a commit writer of this process left when it failed: its crash report, unfinished packs, and the keep
 * marks of its packs, which would never be joined and would stop the next writer from making the same pack again. While
 * another git works in the repository, only a mark without a pack is certain not to belong to it. The unfinished pack of
 * this very failure is still too young: on a disk that stays full, each failure removes what earlier failures left.
 */
export async function removeFailedWriter(folders: Folders): Promise<void> {
  const { gitFolder, commonFolder } = folders;
  const folder = `${commonFolder}/objects/pack`;
  const names = new Set(await packFileNames(folders));
  const isAlone = (await isGitWriting(await allFoldersOf(folders))) === false;
  const marks = [...names].filter((name) => KEEP_MARK.test(name));
  for (const mark of marks.filter((name) => isAlone || !names.has(name.replace(/keep$/, 'pack')))) {
    if (await isStale(`${folder}/${mark}`, 0)) await remove(`${folder}/${mark}`);
  }
  for (const unfinished of [...names].filter((name) => isAlone && UNFINISHED.test(name))) {
    if (await isStale(`${folder}/${unfinished}`, DEAD_AFTER)) await remove(`${folder}/${unfinished}`);
  }
  await removeCrashReports(gitFolder, isAlone);
}

async function removeCrashReports(gitFolder: string, isAlone: boolean): Promise<void> {
  const names = (await readdir(gitFolder).catch((): string[] => [])).filter((name) =>
    CRASH_REPORT.test(name),
  );
  const ourParent = new RegExp(`^ *parent process *: ${process.pid}$`, 'm');
  for (const name of names) {
    const text = await readFile(`${gitFolder}/${name}`, 'latin1').catch(() => null);
    // On a full disk the report is empty.
    const isOurs = text === '' ? isAlone : text !== null && ourParent.test(text);
    if (isOurs) await remove(`${gitFolder}/${name}`);
  }
}

async function remove(path: string): Promise<void> {
  await unlink(path).catch(() => undefined);
}
