import type { Incident } from './incident.ts';

/** The most ended incidents that are kept. */
export const MOST_ENDED = 1000;

/** Keeps incidents: so those that were there before a start are not new after it. */
export interface IncidentStore {
  /** Resolves to the open incidents and the last ones that ended, in no particular order. */
  load(): Promise<Incident[]>;
  /** Keeps these incidents in place of the ones with their ids, and drops the oldest ended ones beyond `MOST_ENDED`. */
  put(incidents: readonly Incident[]): Promise<void>;
  /**
   * Resolves to whether this manager decides what is an incident: one of several that share a store does, until it has not asked
   * for 30 seconds. `now` is Unix milliseconds.
   */
  leads(now: number): Promise<boolean>;
}

/** For how long a manager that asked last decides, in milliseconds. */
export const LEAD_TIME = 30_000;
