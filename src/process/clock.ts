/** The two clocks of a machine. */
export interface Clock {
  /** Unix milliseconds, for timestamps and ids. This clock can jump, even backwards. */
  now(): number;
  /** Milliseconds since an arbitrary moment, for measuring durations. This clock never goes back. */
  elapsed(): number;
}
