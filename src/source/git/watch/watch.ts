import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { Queue } from '../../../async/queue.ts';
import type { WatchEvents, Watcher } from '../../source.ts';
import { REF_TABLES } from '../refs/sync.ts';
import type { Repository } from '../repository/repository.ts';

/**
 * Milliseconds after an event until the files are watched anew and looked at once more. chokidar drops a second change
 * within 50 ms, and follows a file by its inode, which a file that was renamed over it a moment later can have again.
 */
const SECOND_LOOK = 100;

/**
 * Watches the files that change when the followed branch moves: HEAD, its ref, the packed refs, or the list of ref tables.
 * `followed` resolves to the full name of that branch, which a change of HEAD can change; null without one.
 */
export async function watchRepository(
  repository: Repository,
  followed: () => Promise<string | null>,
  { onChange, onTrouble }: WatchEvents,
): Promise<Watcher> {
  const turns = new Queue();
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  let watcher: FSWatcher | null = null;

  const arm = async (): Promise<void> => {
    await watcher?.close();
    if (isClosed) return;
    const branch = await followed().catch(() => null);
    watcher = await watchFiles(filesOf(repository, branch), onEvent, onTrouble);
  };
  const lookAgain = async (): Promise<void> => {
    await turns.run(arm);
    if (!isClosed) onChange();
  };
  function onEvent(): void {
    onChange();
    clearTimeout(timer);
    timer = setTimeout(() => void lookAgain().catch(onTrouble), SECOND_LOOK);
  }

  await turns.run(arm);
  return {
    close: async () => {
      isClosed = true;
      clearTimeout(timer);
      await turns.run(async () => watcher?.close());
    },
  };
}

function filesOf({ gitFolder, commonFolder }: Repository, branch: string | null): string[] {
  const tables = [gitFolder, commonFolder].map((folder) => `${folder}/${REF_TABLES}`).filter(existsSync);
  return [
    `${gitFolder}/HEAD`,
    `${commonFolder}/packed-refs`,
    ...(branch === null ? [] : [`${commonFolder}/${branch}`]),
    ...tables.map((folder) => `${folder}/tables.list`),
  ];
}

/**
 * Resolves once changes are noticed. Of a file that does not exist, the nearest folder is watched: chokidar is ready too early
 * if one is missing.
 */
async function watchFiles(
  files: readonly string[],
  onEvent: () => void,
  onTrouble: (error: unknown) => void,
): Promise<FSWatcher> {
  const isOnTheWay = (path: string): boolean => files.some((file) => `${file}/`.startsWith(`${path}/`));
  const watcher = watch(files.map(nearestThatExists), {
    ignoreInitial: true,
    depth: 0,
    ignored: (path) => !isOnTheWay(path),
  });
  const isReady = new Promise<void>((resolve) => watcher.once('ready', () => resolve()));
  watcher.on('error', onTrouble).on('all', onEvent);
  await isReady;
  return watcher;
}

function nearestThatExists(path: string): string {
  return existsSync(path) ? path : nearestThatExists(dirname(path));
}
