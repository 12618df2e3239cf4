import type { Changed } from './follower.ts';
import type { PassOutcome } from './pass/pass.ts';
import type { Status } from './status.ts';

/** What happens to the applied state: the names of events, and their data. */
export interface ReconcileEvents {
  /** The objects with these keys, as devices see them, have changed: by a pass, an operation or another manager. */
  changed: Changed;
  /** The watch cannot be set, or has died. */
  watchFailed: { error: unknown };
  /** A pass has ended, with this outcome; `status` is the new one. */
  passed: { outcome: PassOutcome; status: Status };
}
