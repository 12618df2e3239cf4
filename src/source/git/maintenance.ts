import { readdir } from 'node:fs/promises';
import { commands } from './commands.ts';
import type { Repository } from './repository.ts';
import { runGit } from './run.ts';

/** Every publish and every fetch leaves a pack; look-ups go through all of them. */
const MANY_PACKS = 50;
/** Milliseconds for one clean-up. */
const TIME_LIMIT = 600_000;

/** Keeps the number of packs small, in the background. */
export interface Maintenance {
  /** Looks how many packs there are, and joins them when there are many. Never rejects; one runs at a time. */
  run(): Promise<void>;
  /** Waits for a clean-up that is under way. */
  close(): Promise<void>;
}

/**
 * Packs are joined in a geometric series, so that a clean-up costs what is new and not what is there. Nothing that
 * a repository holds is dropped.
 */
export function createMaintenance({ context, commonFolder }: Repository): Maintenance {
  let running: Promise<void> | null = null;
  let isClosed = false;

  const clean = async (): Promise<void> => {
    const names = await readdir(`${commonFolder}/objects/pack`).catch((): string[] => []);
    if (names.filter((name) => name.endsWith('.pack')).length < MANY_PACKS) return;
    // A failed clean-up harms nothing, and the next one may work.
    await runGit({ ...context, timeLimit: TIME_LIMIT }, commands.repack()).catch(() => undefined);
  };

  const run = (): Promise<void> => {
    if (isClosed) return Promise.resolve();
    running ??= clean().finally(() => {
      running = null;
    });
    return running;
  };

  return {
    run,
    close: async () => {
      isClosed = true;
      await running;
    },
  };
}
