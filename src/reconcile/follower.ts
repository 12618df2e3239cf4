import { Queue } from '../async/queue.ts';
import type { Emit } from '../events/hub.ts';
import { keyOf } from '../protocol/name.ts';
import type { SharedStore, StoreProgress, StoreState } from '../store/objects/port.ts';

/** The objects that have changed for devices. */
export interface Changed {
  /** The keys of the objects; null if any object may have changed. */
  keys: readonly string[] | null;
}

/** What a read of the store's state has found. */
interface Check {
  /** Counts the reads. */
  number: number;
  /** The revision that is applied; null if there is none. */
  revision: string | null;
  /** Until when polls need no other read, on the clock of `elapsed`. */
  until: number;
}

/**
 * Reads the state of the store for passes and polls. If another manager has changed what devices are served since the read
 * before, emits `changed` before a read resolves. What this process changes is announced by whatever changes it.
 */
export interface Follower {
  /** Reads the state after this call. */
  state(): Promise<StoreState>;
  /** See `SharedStore`; null if no other process changes the store. */
  changedObjects: SharedStore['changedObjects'];
  /** Resolves once the latest read is fresh; shares a read that runs. */
  check(): Promise<unknown>;
  /** Whether the latest read is young enough for polls. */
  isFresh(): boolean;
  latest(): Check;
  /** The number of the read that began last; it may be running. */
  lastStarted(): number;
  /** Has the next check read the state: this process may have changed it. */
  expire(): void;
}

export interface FollowerDependencies {
  store: StoreProgress;
  /** Null if no other process changes the store. */
  shared: SharedStore | null;
  /** For how long polls use a read, in milliseconds; with 0, every check reads. */
  lifetime: number;
  /** A monotonic clock, in milliseconds. */
  elapsed(): number;
  emit: Emit<{ changed: Changed }>;
}

export function createFollower({ store, shared, lifetime, elapsed, emit }: FollowerDependencies): Follower {
  // One after another, so that no older state follows a newer one.
  const queue = new Queue();
  let last: StoreState | null = null;
  let latest: Check = { number: 0, revision: null, until: Number.NEGATIVE_INFINITY };
  let lastStarted = 0;
  let running: Promise<unknown> | null = null;
  /** How often the latest read has expired before its time. */
  let expiries = 0;

  const read = async (): Promise<StoreState> => {
    lastStarted += 1;
    const number = lastStarted;
    const before = expiries;
    const until = elapsed() + lifetime;
    const state = await store.state();
    const changed = last === null || shared === null ? [] : await changesFor(shared, last, state);
    latest = {
      number,
      revision: state.applied?.revision ?? null,
      until: before === expiries ? until : Number.NEGATIVE_INFINITY,
    };
    last = state;
    if (changed?.length !== 0) emit('changed', { keys: changed });
    return state;
  };
  const state = (): Promise<StoreState> => queue.run(read);
  const isFresh = (): boolean => latest.until > elapsed();
  const check = async (): Promise<void> => {
    if (isFresh()) return;
    const shares = running ?? state();
    running = shares;
    await shares.finally(() => {
      if (running === shares) running = null;
    });
  };

  return {
    state,
    changedObjects: async (mark) => shared?.changedObjects(mark) ?? null,
    check: lifetime === 0 ? state : check,
    isFresh,
    latest: () => latest,
    lastStarted: () => lastStarted,
    expire: () => {
      expiries += 1;
      running = null;
      latest = { ...latest, until: Number.NEGATIVE_INFINITY };
    },
  };
}

/** Resolves to the keys of the objects that may have changed for devices between two states; null if any may have. */
async function changesFor(
  shared: SharedStore,
  before: StoreState,
  now: StoreState,
): Promise<string[] | null> {
  const isSame =
    before.fleet === now.fleet &&
    before.sequence === now.sequence &&
    before.idSequence === now.idSequence &&
    before.applied?.revision === now.applied?.revision;
  if (isSame) return [];
  const objects = await shared.changedForDevices(before);
  return objects?.map(({ kind, name }) => keyOf(kind, name)) ?? null;
}
