/** The two times of a machine. */
export interface Clock {
  /** Unix milliseconds: for people and for ids. It can jump, also back. */
  now(): number;
  /** Milliseconds since some moment, always rising: for how long something lasts. */
  elapsed(): number;
}
