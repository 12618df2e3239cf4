import { basename, dirname } from 'node:path';
import { watch as watchFiles } from 'chokidar';
import type { Watcher } from '../source.ts';
import type { Repository } from './repository.ts';

/**
 * Watches what moves when the branch does: HEAD, the refs and the packed refs. Folders are watched rather than
 * files, since git replaces a file by renaming another one over it.
 */
export async function watchRepository(repository: Repository, onChange: () => void): Promise<Watcher> {
  const { gitFolder, commonFolder } = repository;
  const isRelevant = relevance(gitFolder, commonFolder);
  const folders = [...new Set([gitFolder, commonFolder])];
  const watcher = watchFiles(folders, {
    ignored: (path) => !folders.includes(path) && path !== `${commonFolder}/refs` && !isRelevant(path),
    ignoreInitial: true,
  });
  // Its own events are not enough: of two renames in quick succession it can miss the second for good.
  watcher.on('raw', (_event, name, details) => {
    const watched = (details as { watchedPath: string }).watchedPath;
    const path = basename(watched) === name ? watched : `${watched}/${name}`;
    if (isRelevant(path)) onChange();
  });
  watcher.on('all', () => onChange());
  // A watch that breaks is no reason to stop: the loop also looks again by the clock.
  watcher.on('error', () => onChange());
  await new Promise<void>((resolve) => watcher.once('ready', resolve));
  return { close: () => watcher.close() };
}

/** Tells whether a path of the repository's own folders says where a branch is. */
function relevance(gitFolder: string, commonFolder: string): (path: string) => boolean {
  const heads = `${commonFolder}/refs/heads`;
  return (path) => {
    if (path.endsWith('.lock')) return false;
    if (basename(path) === 'HEAD') return dirname(path) === gitFolder;
    return path === `${commonFolder}/packed-refs` || path === heads || path.startsWith(`${heads}/`);
  };
}
