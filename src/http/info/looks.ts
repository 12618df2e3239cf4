import { keyOf } from '../../desired/name.ts';
import type { DeviceReads, StoreState } from '../../store/store.ts';

/** What looks need. */
export interface LookDependencies {
  store: DeviceReads;
  /** Milliseconds that a look may be old; 0: each asks the store. */
  lifetime: number;
  /** Milliseconds that pass, whatever the clock on the wall does. */
  elapsed(): number;
}

/** A check of the store's state, and until when its result may be used. */
export interface Look {
  /** Names the state of the store: while it is the same, every reply that was made of it is right. */
  version: string;
  /** The revision that was applied then. */
  revision: string | null;
  /** Counts the looks. */
  number: number;
  until: number;
}

/** What changed from one look to the next. */
export interface Passage {
  from: Look;
  to: Look;
  /** Keys of the objects that may have changed; null where all may have. */
  changed: string[] | null;
}

export interface Looks {
  latest(): Look;
  /** The number of the last look that began; it may be under way. */
  begun(): number;
  /** The latest one, or a new one where that is as old as a reply may be; one look serves all groups. */
  look(): Promise<Look>;
}

/**
 * Before every moment. No integer, because moments are none: V8 gives an object whose field changes from one to the
 * other another shape.
 */
export const EXPIRED = Number.NEGATIVE_INFINITY;

/** `onPassage` is called with what a new look found, before anything uses it. */
export function createLooks(
  { store, lifetime, elapsed }: LookDependencies,
  onPassage: (passage: Passage) => void,
): Looks {
  let latest: Look = { version: '', revision: null, number: 0, until: EXPIRED };
  let begun = 0;
  let seen: StoreState | null = null;
  let underWay: Promise<Look> | null = null;

  const lookOn = async (): Promise<Look> => {
    begun += 1;
    const number = begun;
    const until = elapsed() + lifetime;
    const now = await store.state();
    const to = lookAt(now, number, until);
    if (seen !== null && to.version !== latest.version) {
      const changed = await store.changedForDevices(seen);
      onPassage({ from: latest, to, changed: changed?.map(({ kind, name }) => keyOf(kind, name)) ?? null });
    }
    latest = to;
    seen = now;
    return to;
  };
  const look = async (): Promise<Look> => {
    if (lifetime === 0) return lookAt(await store.state(), begun, elapsed());
    if (latest.until > elapsed()) return latest;
    underWay ??= lookOn().finally(() => {
      underWay = null;
    });
    return underWay;
  };
  return { latest: () => latest, begun: () => begun, look };
}

/** Every change of an object or of an id changes one of these fields. */
function lookAt({ fleet, sequence, idSequence, applied }: StoreState, number: number, until: number): Look {
  const revision = applied?.revision ?? null;
  return { version: [fleet, sequence, idSequence, revision].join(' '), revision, number, until };
}
