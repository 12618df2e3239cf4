import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { watch } from 'chokidar';
import { messageOf } from '../../errors.ts';
import { type CommandIo, type ExitCode, UsageError } from '../shell/io.ts';

/** Milliseconds to wait for more changes: an editor writes a file in several steps, a switch of branches many files. */
const SETTLING = 100;

/** How a check is run. */
interface Run {
  isWatching: boolean;
  format: string;
}

/** Runs a check once or, with --watch, again after each change below the folder. Rejects as a UsageError if its format is not text. */
export async function runOrWatch(
  folder: string,
  { isWatching, format }: Run,
  io: CommandIo,
  check: () => Promise<ExitCode>,
): Promise<ExitCode> {
  if (!isWatching) return check();
  if (format !== 'text') throw new UsageError(`--watch shows text; leave out --format ${format}`);
  return runOnChange(folder, check, io);
}

/**
 * Runs a check, and again after each change below its folder, until somebody ends the program. Rejects with what the first
 * run rejects with; later failures, as of a folder that is being replaced, are shown.
 */
async function runOnChange(folder: string, run: () => Promise<ExitCode>, io: CommandIo): Promise<never> {
  const watcher = watch(folder, { ignoreInitial: true });
  let changes = 0;
  watcher.on('all', () => (changes += 1));
  await once(watcher, 'ready');
  await run().catch(async (error: unknown) => {
    await watcher.close();
    throw error;
  });
  for (let seen = 0; ; ) {
    if (changes === seen) await once(watcher, 'all');
    await setTimeout(SETTLING);
    seen = changes;
    io.write('\n');
    await run().catch((error: unknown) => io.writeError(`holdfast: ${messageOf(error)}\n`));
  }
}
