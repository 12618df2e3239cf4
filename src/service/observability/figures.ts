/** A count for each combination of values of a counter's labels. */
export interface Count {
  labels: Readonly<Record<string, string | number>>;
  count: number;
}

/** Everything that was counted. Times are seconds since 1970; null where something has not happened yet. */
export interface Figures {
  requests: Iterable<Count>;
  transfers: Iterable<Count>;
  passes: Iterable<Count>;
  changes: number;
  problems: number;
  failures: number;
  appliedAt: number | null;
  reachedAt: number | null;
  /** Whether the last look at origin reached it; null before the first, and where there is none. */
  isOriginUp: boolean | null;
  /** Whether nothing hinders the record of ids. */
  isRecorded: boolean;
  /** Whether this manager asks origin by the clock; null where there is none to ask. */
  pollsOrigin: boolean | null;
}
