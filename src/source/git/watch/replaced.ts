import { stat } from 'node:fs/promises';
import { Queue } from '../../../async/queue.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Head, Source, WatchEvents, Watcher } from '../../source.ts';
import { explainFailure } from '../process/disk-trouble.ts';
import { REF_TABLES } from '../refs/sync.ts';
import type { Repository } from '../repository/repository.ts';

/** How a checkout is read and watched. */
type ReadAndWatched = Pick<Source, 'reader' | 'watch'>;

/** A checkout whose folders can be replaced while it is open. */
export interface ReplaceableCheckout extends ReadAndWatched {
  repository: Repository;
  /** Ends the processes and closes the files of the old checkout; the next use starts new ones. */
  closeProcesses(): Promise<void>;
}

/**
 * Returns the checkout's reader and watch, made to survive its replacement. Someone can put another clone in its place,
 * by renaming or by cloning again. Running git processes would go on reading the old one, in a folder that no longer has
 * a name, and watches would go on watching it. So each read of the head first checks whether the folders are still those
 * that were opened; if not, processes and watches are restarted. Rejects as `unavailable` while a folder is missing.
 */
export async function followReplaced(checkout: ReplaceableCheckout): Promise<ReadAndWatched> {
  const { reader, repository, closeProcesses } = checkout;
  const watches = new Set<{ events: WatchEvents; watcher: Watcher }>();
  let identity = await identify(repository);

  // One at a time: two reads at once would each restart the watches, and a watch that is closed meanwhile would start again.
  const turns = new Queue();

  const reopen = async (): Promise<void> => {
    const current = await identify(repository);
    if (current === identity) return;
    await closeProcesses();
    for (const watch of watches) {
      await watch.watcher.close();
      watch.watcher = await checkout.watch(watch.events);
    }
    identity = current;
  };
  const reopenIfReplaced = async (): Promise<void> => {
    if ((await identify(repository)) !== identity) await turns.run(reopen);
  };

  return {
    reader: {
      ...reader,
      head: async (): Promise<Head> => {
        await reopenIfReplaced();
        return reader.head();
      },
    },
    watch: (events) =>
      turns.run(async () => {
        const watch = { events, watcher: await checkout.watch(events) };
        watches.add(watch);
        const close = (): Promise<void> => {
          watches.delete(watch);
          return watch.watcher.close();
        };
        return { close: () => turns.run(close) };
      }),
  };
}

/** Identifies the folders of a repository against any others of the same names. */
async function identify({ context, gitFolder, commonFolder }: Repository): Promise<string> {
  try {
    const folders = new Set([context.folder, gitFolder, commonFolder]);
    const found = await Promise.all(Array.from(folders, (path) => stat(path)));
    // `git refs migrate` moves all refs between files and tables under running processes.
    const tables = await stat(`${commonFolder}/${REF_TABLES}`).catch(() => null);
    return [...found, ...(tables === null ? [] : [tables])].map(({ dev, ino }) => `${dev}:${ino}`).join(' ');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const message = ['ENOENT', 'ENOTDIR'].includes(code)
      ? 'the repository is gone; restore it'
      : explainFailure('the folder of the repository cannot be read', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}
