/** Something that a person asks one device, and its answer. Times are Unix milliseconds. */
export interface Ask {
  /** 12 random hex digits. */
  id: string;
  device: string;
  kind: 'logs' | 'retry';
  app: string;
  /** Of `logs`: the container; null for all of the app. */
  container: string | null;
  /** Of `logs`: how many lines at most. */
  lines: number;
  /** Of `logs`: a span such as `10m`, or a time; null for no limit. */
  since: string | null;
  /** Who asked, and when. */
  by: string;
  at: number;
  answer: AskAnswer | null;
}

export interface AskAnswer {
  at: number;
  text: string;
  /** Whether older lines were left out. */
  truncated: boolean;
  /** Why the device did not do it; null if it did. */
  error: string | null;
}

/** For how long a device may answer, and for how long an answer is kept, in milliseconds. */
export const ANSWERABLE = 600_000;
export const KEPT = 900_000;
/** The most asks that wait for one device. */
export const MOST_WAITING = 20;
/** The most characters of all answers together. */
export const MOST_TEXT = 64 * 1024 * 1024;

/** Whether a device can still answer. */
export function isWaiting({ answer, at }: Ask, now: number): boolean {
  return answer === null && now - at < ANSWERABLE;
}
