import type { Problem } from '../desired/problem.ts';
import { compareProblems } from '../desired/problem.ts';
import type { ErrorKind } from '../errors.ts';
import type { Seeding } from './seed.ts';

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

/** How the last fetch from a repository elsewhere went. */
export interface OriginStatus {
  /** When it was reached last, in this process; Unix milliseconds. */
  reachedAt: number | null;
  error: PassError | null;
  /** What the error came from, for the log. */
  cause: unknown;
}

/** Who asks a repository elsewhere by the clock, as of the last look at the lease. */
export interface Polling {
  /** Whether this manager does. */
  isOurs: boolean;
  /** The name of the holder of the lease; null where nobody holds it, or none is needed. */
  by: string | null;
}

/** How the manager stands, as of the end of its last pass. */
export interface Status {
  /** `starting` before the first pass; `refused` when the revision itself is not acceptable. */
  state: 'starting' | 'applied' | 'refused' | 'failing';
  /** Short name of the branch; null when HEAD is detached. */
  branch: string | null;
  /** Null where the repository that is read is the origin. */
  origin: OriginStatus | null;
  /** Null where the repository that is read is the origin. */
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

/** Gives each problem its age: one that was there before keeps its time, whatever line it moved to. */
export function ageProblems(
  problems: readonly Problem[],
  before: readonly StandingProblem[],
  now: number,
): StandingProblem[] {
  const known = new Map(before.map((problem) => [identity(problem), problem.since]));
  return [...problems]
    .sort(compareProblems)
    .map((problem) => ({ ...problem, since: known.get(identity(problem)) ?? now }));
}

function identity({ file, code, message }: Problem): string {
  return JSON.stringify([file, code, message]);
}
