import { keyOf } from '../../protocol/name.ts';
import type { DeviceReads, StoreState } from '../../store/store.ts';

/** What checks of the store need. */
export interface StoreCheckDependencies {
  store: DeviceReads;
  /** How long the result of a check is used, in milliseconds; with 0, every call reads the store. */
  lifetime: number;
  /** A monotonic clock, in milliseconds. */
  elapsed(): number;
}

/** The version of the store that a check found, and until when it is used. */
export interface StoreCheck {
  /** Identifies the state of the store: while it is the same, every reply made from that state is right. */
  version: string;
  /** The revision that is applied in this version. */
  revision: string | null;
  /** Counts the checks. */
  number: number;
  until: number;
}

/** What changed from one check to the next. */
export interface StoreChange {
  from: StoreCheck;
  to: StoreCheck;
  /** Keys of the objects that may have changed; null if any object may have. */
  changed: string[] | null;
}

/** Checks whether the store has changed. All groups share these checks. */
export interface StoreChecks {
  latest(): StoreCheck;
  /** The number of the last check that started; it may be running. */
  lastStarted(): number;
  /** Resolves to the latest check, or to a new one if that has expired. */
  check(): Promise<StoreCheck>;
}

/**
 * Earlier than any time. It is not an integer, because times are not either: if a field changed from one to the other, V8
 * would give the object another shape.
 */
export const EXPIRED = Number.NEGATIVE_INFINITY;

/** `onChange` is called when a check finds a new version, before anything uses the check. */
export function createStoreChecks(
  { store, lifetime, elapsed }: StoreCheckDependencies,
  onChange: (change: StoreChange) => void,
): StoreChecks {
  let latest: StoreCheck = { version: '', revision: null, number: 0, until: EXPIRED };
  let lastStarted = 0;
  let lastState: StoreState | null = null;
  let running: Promise<StoreCheck> | null = null;

  const run = async (): Promise<StoreCheck> => {
    lastStarted += 1;
    const number = lastStarted;
    const until = elapsed() + lifetime;
    const state = await store.state();
    const to = toCheck(state, number, until);
    if (lastState !== null && to.version !== latest.version) {
      const objects = await store.changedForDevices(lastState);
      onChange({ from: latest, to, changed: objects?.map(({ kind, name }) => keyOf(kind, name)) ?? null });
    }
    latest = to;
    lastState = state;
    return to;
  };
  const check = async (): Promise<StoreCheck> => {
    if (lifetime === 0) return toCheck(await store.state(), lastStarted, elapsed());
    if (latest.until > elapsed()) return latest;
    running ??= run().finally(() => {
      running = null;
    });
    return running;
  };
  return { latest: () => latest, lastStarted: () => lastStarted, check };
}

/** Every change of an object or an id changes one of the fields that make up the version. */
function toCheck(
  { fleet, sequence, idSequence, applied }: StoreState,
  number: number,
  until: number,
): StoreCheck {
  const revision = applied?.revision ?? null;
  return { version: [fleet, sequence, idSequence, revision].join(' '), revision, number, until };
}
