import type { Dirent } from 'node:fs';
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CRASH_REPORT } from '../write/commit-writer.ts';

/** Names of files that git has not finished writing. */
const UNFINISHED = /^(tmp_|\.tmp-)/;
/** What a killed writer of commits leaves beside its packs: it would keep them from being joined forever. */
const KEPT = /^pack-.*\.keep$/;
/** Milliseconds after which such a file is abandoned: longer than a writer of commits waits for work. */
const ABANDONED_AFTER = 60_000;

/** Removes locks, half-written packs and marks of packs in use. None is in use: no other process works in the mirror. */
export async function removeLeftovers(folder: string): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const isLeftover = ({ name, parentPath }: Dirent): boolean =>
    name.endsWith('.lock') || (parentPath.includes('objects') && (UNFINISHED.test(name) || KEPT.test(name)));
  const leftovers = entries.filter((entry) => entry.isFile() && isLeftover(entry));
  await Promise.all(leftovers.map((entry) => rm(join(entry.parentPath, entry.name), { force: true })));
}

/**
 * Removes what a killed fetch can leave: locks of these refs, which only fetches and pushes move, which take turns, and unfinished
 * packs that are abandoned. Resolves to whether younger unfinished packs remain: each can have filled the disk, so they
 * must be removed later.
 */
export async function tidyMirror(folder: string, refs: readonly string[]): Promise<boolean> {
  const names = [...refs, 'packed-refs', 'shallow'];
  const locks = names.map((name) => join(folder, `${name}.lock`));
  const abandoned = await abandonedPacks(folder);
  // If a file cannot be removed, the next fetch fails and reports it.
  const leftovers = [...locks, ...abandoned.paths];
  await Promise.all(leftovers.map((path) => rm(path, { force: true }).catch(() => undefined)));
  return abandoned.areMore;
}

async function isAbandoned(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < Date.now() - ABANDONED_AFTER;
}

/** Removes what a commit writer has left that failed and ended: its report, marks of its packs, and unfinished packs. */
export async function removeFailedWriter(folder: string): Promise<void> {
  const packs = join(folder, 'objects/pack');
  const names = await readdir(packs).catch((): string[] => []);
  const reports = (await readdir(folder).catch((): string[] => [])).filter((name) => CRASH_REPORT.test(name));
  const marks = await Promise.all(
    names
      .filter((name) => KEPT.test(name))
      .map(async (name) => ((await isOfWriter(join(packs, name))) ? name : [])),
  );
  const leftovers = [
    ...reports.map((name) => join(folder, name)),
    ...marks.flat().map((name) => join(packs, name)),
    ...(await abandonedPacks(folder)).paths,
  ];
  await Promise.all(leftovers.map((path) => rm(path, { force: true }).catch(() => undefined)));
}

/** Whether a mark was made by `fast-import`; a fetch that is running marks its pack, too. */
async function isOfWriter(path: string): Promise<boolean> {
  return (await readFile(path, 'latin1').catch(() => '')).trim() === 'fast-import';
}

/**
 * Removes the unfinished packs of a clean-up that failed or was ended: they can occupy all the space that the disk had
 * left. `before` lists the names from before the clean-up. Only to be called while nothing else writes packs.
 */
export async function removeFailedJoin(packs: string, before: readonly string[]): Promise<void> {
  const names = await readdir(packs).catch((): string[] => []);
  const added = names.filter((name) => UNFINISHED.test(name) && !before.includes(name));
  await Promise.all(added.map((name) => rm(join(packs, name), { force: true }).catch(() => undefined)));
}

/** Resolves to the unfinished packs that are abandoned, and whether there are younger ones. */
async function abandonedPacks(folder: string): Promise<{ paths: string[]; areMore: boolean }> {
  const packs = join(folder, 'objects/pack');
  const names = await readdir(packs).catch((): string[] => []);
  const unfinished = names.filter((name) => UNFINISHED.test(name)).map((name) => join(packs, name));
  const abandoned = await Promise.all(unfinished.map(isAbandoned));
  return { paths: unfinished.filter((_, index) => abandoned[index]), areMore: abandoned.includes(false) };
}
