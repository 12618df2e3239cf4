import type { Memory } from './memory.ts';
import type { Actual, Disk, Rules, Wanted } from './model.ts';
import type { Session } from './session.ts';

/** Everything that a plan is made from. */
export interface World {
  /** Null before the first reply. */
  wanted: Wanted | null;
  actual: Actual;
  memory: Memory;
  session: Session;
  rules: Rules;
  disk: Disk;
  /** Apps with a step under way that changes containers; nothing else is done to them. */
  busy: ReadonlySet<string>;
  /** Apps whose image is being pulled. */
  pulling: ReadonlySet<string>;
  /** Seconds of a clock that never jumps. */
  now: number;
  /** Seconds since the Unix epoch. */
  wallTime: number;
  /** In [0, 1). */
  random: number;
}
