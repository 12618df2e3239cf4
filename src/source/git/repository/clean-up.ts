import { commands } from '../process/commands.ts';
import { withConfig } from '../process/environment.ts';
import { askGit } from '../process/run.ts';
import { createTransfers } from '../process/transfer.ts';
import type { Repository } from './repository.ts';

/** Writes from one look to the next; each leaves a handful of loose objects, and git packs them from 6,700 on. */
const INTERVAL = 100;
/** Milliseconds that git may take. */
const LIMIT = { total: 600_000, silence: 600_000 };

/** Has git clean up a repository as it does after anybody's push, in the background. */
export interface CleanUp {
  /** Counts a write; every so often, it lets git look whether there is something to do. Never rejects. */
  afterWrite(): void;
  /** Ends a running clean-up; half of one does no harm. */
  end(): void;
  /** Like `end`, and starts no more. Resolves when none is running. */
  close(): Promise<void>;
}

/** `inTurn` runs a clean-up when nothing else works in the repository; without it, a clean-up runs at any time. */
export function createCleanUp(
  { context }: Pick<Repository, 'context'>,
  inTurn = (work: () => Promise<void>): Promise<void> => work(),
): CleanUp {
  const env = withConfig(context.env, [['gc.autoDetach', 'false']]);
  // Ended by SIGTERM, git removes its locks and temporary packs.
  const group = createTransfers({ ...context, env }, { signal: 'SIGTERM' });
  let writes = 0;
  let running: Promise<unknown> | null = null;
  const run = async (): Promise<void> => {
    // A program that the repository names, which git would run.
    if ((await askGit(context, commands.hasGcHook())) !== null) return;
    await group.run(commands.cleanUp(), LIMIT);
  };
  return {
    afterWrite: () => {
      writes += 1;
      if (writes % INTERVAL !== 1) return;
      running ??= inTurn(run)
        .catch(() => undefined)
        .finally(() => {
          running = null;
        });
    },
    end: group.end,
    close: async () => {
      group.close();
      await running;
    },
  };
}
