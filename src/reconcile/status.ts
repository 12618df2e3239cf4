import { forEachYielding } from '../async/pace.ts';
import type { Problem } from '../desired/problem.ts';
import { compareProblems } from '../desired/problem.ts';
import type { ErrorKind } from '../errors.ts';
import type { Seeding } from '../ids/seeding/seed.ts';

/** A problem, and since when it exists (Unix milliseconds). */
export interface StandingProblem extends Problem {
  since: number;
}

/** Why the last pass, or the last fetch, failed. Times are Unix milliseconds. */
export interface PassError {
  kind: ErrorKind;
  message: string;
  /** When the first of these failures in a row happened. */
  since: number;
  /** The number of failures in a row. */
  failures: number;
  /** The time of the next try; null if only a new commit causes one. */
  retryAt: number | null;
}

/** Whether the last fetch from origin succeeded. */
export interface OriginStatus {
  /** When this process last reached origin, in Unix milliseconds; null if it has not yet. */
  reachedAt: number | null;
  /** Why the last fetch failed; null if it succeeded. */
  error: PassError | null;
  /** The cause of the error, for the log. */
  cause: unknown;
}

/** The status of the manager, as of the end of its last pass. */
export interface Status {
  /** `starting` before the first pass; `refused` if the revision itself is not acceptable. */
  state: 'starting' | 'applied' | 'refused' | 'failing';
  /** Short name of the branch; null if HEAD is detached. */
  branch: string | null;
  /** Null if the repository that is read is the origin itself. */
  origin: OriginStatus | null;
  attempted: { revision: string; at: number } | null;
  applied: { revision: string; at: number } | null;
  error: PassError | null;
  /** The last time that the branch moved to a revision that does not descend from the applied one. */
  rewritten: { from: string; to: string; at: number } | null;
  /** The last seeding of the store by this process; null if there was none. */
  seeded: (Seeding & { at: number }) | null;
  /** Why moves of the branch are found by polling alone; null while the watch works. Unix milliseconds. */
  watchProblem: { message: string; since: number } | null;
  problems: StandingProblem[];
}

/** The status before the first pass, of a manager without a remote repository. */
export const STARTING: Status = {
  state: 'starting',
  branch: null,
  origin: null,
  attempted: null,
  applied: null,
  error: null,
  rewritten: null,
  seeded: null,
  watchProblem: null,
  problems: [],
};

/**
 * Creates a function that adds to each problem of a pass since when it exists. A problem that existed before keeps its
 * time, even if it has moved to another line of its file. If the problems are the same objects as in the pass before, as
 * after most passes, it returns the same list.
 *
 * Yields to the event loop between problems, of which there can be very many: if the folder is the root of a large
 * repository, each other file is one.
 */
export function createAging(): (problems: readonly Problem[], now: number) => Promise<StandingProblem[]> {
  let lastProblems: readonly Problem[] = [];
  let lastAged: StandingProblem[] = [];
  let agedByProblem = new Map<Problem, StandingProblem>();

  return async (problems, now) => {
    const isSame =
      problems.length === lastProblems.length &&
      problems.every((problem, index) => problem === lastProblems[index]);
    if (isSame) return lastAged;
    const gone = agedByProblem;
    const current = new Map<Problem, StandingProblem>();
    const newObjects: Problem[] = [];
    await forEachYielding(problems, (problem) => {
      const aged = gone.get(problem);
      if (aged === undefined) newObjects.push(problem);
      else current.set(problem, aged);
      gone.delete(problem);
    });
    // A file that was read again has new objects, also for the problems that it had before.
    const since = new Map<string, number>();
    await forEachYielding(gone.values(), (problem) => since.set(identity(problem), problem.since));
    await forEachYielding(newObjects, (problem) =>
      current.set(problem, { ...problem, since: since.get(identity(problem)) ?? now }),
    );
    lastProblems = problems;
    agedByProblem = current;
    lastAged = [...current.values()].sort(compareProblems);
    return lastAged;
  };
}

/** Identifies a problem without its position in the file. */
function identity({ file, code, message }: Problem): string {
  return JSON.stringify([file, code, message]);
}
