import { Queue } from '../../../async/queue.ts';
import { createCleanUp } from '../repository/clean-up.ts';
import type { Repository } from '../repository/repository.ts';

/** Work in the mirror, one after the other: fetches, pushes and versions of the record; in between, git cleans up. */
export interface Turns extends Pick<Queue, 'run' | 'runWithin'> {
  /** Ends a running clean-up, and starts no more. Resolves when none is running. */
  endCleanUp(): Promise<void>;
}

export function createTurns(repository: Repository): Turns {
  const queue = new Queue();
  const cleanUp = createCleanUp(repository, (work) => queue.run(work));
  const counting =
    <T>(work: () => T | Promise<T>) =>
    async (): Promise<T> => {
      const done = await work();
      cleanUp.afterWrite();
      return done;
    };
  return {
    run: (work) => queue.run(counting(work)),
    runWithin: (limit, tooLate, work) => queue.runWithin(limit, tooLate, counting(work)),
    endCleanUp: cleanUp.close,
  };
}
