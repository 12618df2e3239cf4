/** A count for each combination of values of a counter's labels. */
export interface Count {
  labels: Readonly<Record<string, string | number>>;
  count: number;
}

/** What passes tell. Times are seconds since 1970; null where something has not happened yet. */
export interface PassFigures {
  passes: Iterable<Count>;
  changes: number;
  problems: number;
  failures: number;
  appliedAt: number | null;
  reachedAt: number | null;
  /** Whether the last look at origin reached it; null before the first, and where there is none. */
  isOriginUp: boolean | null;
  /** Whether this manager asks origin by the clock; null where there is none to ask. */
  pollsOrigin: boolean | null;
}

/** Everything that was counted. */
export interface Figures extends PassFigures {
  requests: Iterable<Count>;
  transfers: Iterable<Count>;
  /** Whether nothing hinders the record of ids. */
  isRecorded: boolean;
}
