import type { Faults } from '../../faults.ts';
import type { Engine } from '../engine/engine.ts';
import type { WorkerParts } from '../parts.ts';

/** Everything that the loop works with. */
export interface Parts extends WorkerParts {
  engine: Engine;
  faults: Faults;
  /** A number in [0, 1). */
  random(): number;
}

/** Seconds of the monotonic clock. */
export function secondsOf({ clock }: Pick<Parts, 'clock'>): number {
  return clock.elapsed() / 1000;
}

/** Whole seconds since the Unix epoch. */
export function wallTimeOf({ clock }: Pick<Parts, 'clock'>): number {
  return Math.floor(clock.now() / 1000);
}
