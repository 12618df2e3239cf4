import { HoldfastError } from '../../errors.ts';
import type { Publisher } from '../../source/source.ts';

/**
 * The same publisher; tells of the first commit that it makes on a branch without one, as soon as it begins to: a pass
 * can see the branch before the publisher is done. Resolves to null where it made none. A commit of which nobody knows
 * whether it arrived is this process's own all the same.
 */
export function tellingRoots(
  publisher: Publisher,
  began: (revision: Promise<string | null>) => void,
): Publisher {
  return {
    publish: (base, drafts) => {
      const publishing = publisher.publish(base, drafts);
      if (base.revision === null) began(publishing.then(firstOf, (error) => firstOf(commitsOf(error))));
      return publishing;
    },
    close: () => publisher.close(),
  };
}

function commitsOf(error: unknown): unknown {
  return error instanceof HoldfastError ? error.details['commits'] : undefined;
}

function firstOf(commits: unknown): string | null {
  const first: unknown = Array.isArray(commits) ? commits[0] : undefined;
  return typeof first === 'string' ? first : null;
}
