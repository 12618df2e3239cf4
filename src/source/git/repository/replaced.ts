import { stat } from 'node:fs/promises';
import { Queue } from '../../../async/queue.ts';
import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader, Watcher } from '../../source.ts';
import { readingTrouble } from '../process/disk-trouble.ts';
import type { Repository } from './repository.ts';
import { REF_TABLES } from './sync-ref.ts';

/** What is done with a checkout that another one took the place of. */
export interface ReplacedParts {
  reader: Reader;
  repository: Repository;
  /** Ends the processes and closes the files that are in the old one; the next use begins anew. */
  letGo(): Promise<void>;
  watch(onChange: () => void): Promise<Watcher>;
}

/** A reader and a watch that go on in the checkout that is there now. */
export interface Following {
  reader: Reader;
  watch(onChange: () => void): Promise<Watcher>;
}

/**
 * Somebody can put another clone in the place of the checkout, by renaming or by cloning again. Processes of git that
 * live would go on reading the old one, in a folder that has no name any more, and watches too. So each look at the
 * head first looks whether the folders are still those that were opened, and begins anew where they are not. Rejects as
 * `unavailable` while there is nothing.
 */
export async function followReplaced(parts: ReplacedParts): Promise<Following> {
  const { reader, repository, letGo } = parts;
  const watches = new Set<{ onChange(): void; watcher: Watcher }>();
  let identity = await identify(repository);

  // Two looks at once would each begin the watches anew, and one that is ended meanwhile would begin again.
  const turns = new Queue();

  const beginAnew = async (): Promise<void> => {
    const now = await identify(repository);
    if (now === identity) return;
    await letGo();
    for (const watch of watches) {
      await watch.watcher.close();
      watch.watcher = await parts.watch(watch.onChange);
    }
    identity = now;
  };
  const follow = async (): Promise<void> => {
    if ((await identify(repository)) !== identity) await turns.run(beginAnew);
  };

  return {
    reader: {
      ...reader,
      head: async (): Promise<Head> => {
        await follow();
        return reader.head();
      },
    },
    watch: (onChange) =>
      turns.run(async () => {
        const watch = { onChange, watcher: await parts.watch(onChange) };
        watches.add(watch);
        const close = (): Promise<void> => {
          watches.delete(watch);
          return watch.watcher.close();
        };
        return { close: () => turns.run(close) };
      }),
  };
}

/** What tells these folders from all others that could have their names. */
async function identify({ context, gitFolder, commonFolder }: Repository): Promise<string> {
  try {
    const folders = new Set([context.folder, gitFolder, commonFolder]);
    const found = await Promise.all(Array.from(folders, (path) => stat(path)));
    // `git refs migrate` moves all refs between files and tables below the feet of living processes.
    const tables = await stat(`${commonFolder}/${REF_TABLES}`).catch(() => null);
    return [...found, ...(tables === null ? [] : [tables])].map(({ dev, ino }) => `${dev}:${ino}`).join(' ');
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    const message = ['ENOENT', 'ENOTDIR'].includes(code)
      ? 'the repository is gone; restore it'
      : readingTrouble('the folder of the repository cannot be read', error);
    throw new HoldfastError('unavailable', message, {}, error);
  }
}
