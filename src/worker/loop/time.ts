import type { Parts } from '../parts.ts';

/** Seconds of the monotonic clock. */
export function secondsOf({ clock }: Pick<Parts, 'clock'>): number {
  return clock.elapsed() / 1000;
}

/** Whole seconds since the Unix epoch. */
export function wallTimeOf({ clock }: Pick<Parts, 'clock'>): number {
  return Math.floor(clock.now() / 1000);
}
