import { HoldfastError } from '../errors.ts';
import type { Publisher } from '../source/source.ts';

/**
 * The same publisher; tells the first commit that it makes on a branch without one. Also where nobody knows whether that
 * commit arrived: it is this process's own all the same.
 */
export function tellingRoots(publisher: Publisher, began: (revision: string) => void): Publisher {
  const tell = (commits: unknown): void => {
    const first: unknown = Array.isArray(commits) ? commits[0] : undefined;
    if (typeof first === 'string') began(first);
  };
  return {
    publish: async (base, drafts) => {
      try {
        const commits = await publisher.publish(base, drafts);
        if (base.revision === null) tell(commits);
        return commits;
      } catch (error) {
        if (base.revision === null && error instanceof HoldfastError) tell(error.details['commits']);
        throw error;
      }
    },
    close: () => publisher.close(),
  };
}
