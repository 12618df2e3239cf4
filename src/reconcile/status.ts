import { inTurns } from '../async/pace.ts';
import type { Problem } from '../desired/problem.ts';
import { compareProblems } from '../desired/problem.ts';
import type { ErrorKind } from '../errors.ts';
import type { Seeding } from './past/seed.ts';

/** A problem, and since when it has been there (Unix milliseconds). */
export interface StandingProblem extends Problem {
  since: number;
}

/** Why the last pass, or the last fetch, failed. Times are Unix milliseconds. */
export interface PassError {
  kind: ErrorKind;
  message: string;
  /** When the first of the failures in a row happened. */
  since: number;
  /** How many passes have failed in a row. */
  failures: number;
  /** When it is tried again; null: with the next commit. */
  retryAt: number | null;
}

/** How the last fetch from origin went. */
export interface OriginStatus {
  /** When it was reached last, in this process; Unix milliseconds. */
  reachedAt: number | null;
  error: PassError | null;
  /** What the error came from, for the log. */
  cause: unknown;
}

/** Who polls origin, as of the last look at the lease. */
export interface Polling {
  /** Whether this manager does. */
  isOurs: boolean;
  /** The name of the lease's holder; null if it has none, or there is no lease. */
  by: string | null;
}

/** The status of the manager, as of the end of its last pass. */
export interface Status {
  /** `starting` before the first pass; `refused` when the revision itself is not acceptable. */
  state: 'starting' | 'applied' | 'refused' | 'failing';
  /** Short name of the branch; null when HEAD is detached. */
  branch: string | null;
  /** Null if the repository that is read is the origin. */
  origin: OriginStatus | null;
  /** Null if the repository that is read is the origin. */
  polling: Polling | null;
  attempted: { revision: string; at: number } | null;
  applied: { revision: string; at: number } | null;
  error: PassError | null;
  /** The last time that the branch came to a revision that does not descend from the applied one. */
  rewritten: { from: string; to: string; at: number } | null;
  /** What this process took over from the past of ids; null where the store knew best itself. */
  seeded: (Seeding & { at: number }) | null;
  problems: StandingProblem[];
}

/** The status of a manager that has not looked yet, where the repository that is read is the origin. */
export const STARTING: Status = {
  state: 'starting',
  branch: null,
  origin: null,
  polling: null,
  attempted: null,
  applied: null,
  error: null,
  rewritten: null,
  seeded: null,
  problems: [],
};

/**
 * Gives each problem its age, from pass to pass: one that was there before keeps its time, whatever line it moved to.
 * Gives way to others on its way: a folder that is the top of a large repository has as many problems as it has other
 * files. While the problems are the very ones of the pass before, so is the list, as after most passes.
 */
export function createAging(): (problems: readonly Problem[], now: number) => Promise<StandingProblem[]> {
  let last: readonly Problem[] = [];
  let aged: StandingProblem[] = [];
  /** By the problem that each was made of. */
  let known = new Map<Problem, StandingProblem>();

  return async (problems, now) => {
    if (problems.length === last.length && problems.every((one, index) => one === last[index])) return aged;
    const [gone, standing, fresh] = [known, new Map<Problem, StandingProblem>(), [] as Problem[]];
    await inTurns(problems, (problem) => {
      const old = gone.get(problem);
      if (old === undefined) fresh.push(problem);
      else standing.set(problem, old);
      gone.delete(problem);
    });
    const since = new Map<string, number>();
    await inTurns(gone.values(), (problem) => since.set(identity(problem), problem.since));
    await inTurns(fresh, (problem) =>
      standing.set(problem, { ...problem, since: since.get(identity(problem)) ?? now }),
    );
    [last, known] = [problems, standing];
    aged = [...standing.values()].sort(compareProblems);
    return aged;
  };
}

function identity({ file, code, message }: Problem): string {
  return JSON.stringify([file, code, message]);
}
