import type { Ask, AskAnswer } from './ask.ts';

/** Keeps asks until they are of no more use; in no backup. */
export interface AskStore {
  /** Keeps an ask. Resolves to false, and does not, if too many wait for the device (`MOST_WAITING`). */
  add(ask: Ask): Promise<boolean>;
  /** Resolves to the asks that wait at this time (Unix milliseconds), oldest first. */
  waiting(now: number): Promise<Ask[]>;
  /** Resolves to an ask of a device; null if there is none. */
  get(device: string, id: string): Promise<Ask | null>;
  /** Keeps an answer. Resolves to false, and does not, if no such ask waits. Drops the oldest answers beyond `MOST_TEXT`. */
  answer(device: string, id: string, answer: AskAnswer): Promise<boolean>;
  /** Drops asks that were made before this time (Unix milliseconds). */
  dropBefore(at: number): Promise<void>;
}
