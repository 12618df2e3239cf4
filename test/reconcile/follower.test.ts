import { describe, expect, it } from 'vitest';
import type { ObjectKey } from '../../src/protocol/name.ts';
import { createFollower } from '../../src/reconcile/follower.ts';
import type { StoreState } from '../../src/store/objects/port.ts';

/** A follower of a store that the test plays; `isShared` says whether other processes change it. */
function openFollower({ isShared, lifetime }: { isShared: boolean; lifetime: number }) {
  const clock = { now: 0 };
  const store = { idSequence: 1, changed: [] as ObjectKey[] | null, reads: 0, delay: Promise.resolve() };
  const emitted: (readonly string[] | null)[] = [];
  const follower = createFollower({
    store: {
      state: async () => {
        store.reads += 1;
        const { idSequence } = store;
        await store.delay;
        return { idSequence, applied: { revision: `at ${idSequence}`, at: 0 } } as StoreState;
      },
    },
    shared: isShared
      ? { changedForDevices: async () => store.changed, changedObjects: async () => null }
      : null,
    lifetime,
    elapsed: () => clock.now,
    emit: (_, { keys }) => void emitted.push(keys),
  });
  return { follower, clock, store, emitted };
}

describe('a follower of a store that several managers share', () => {
  it('says what has changed before a read of the state resolves', async () => {
    const { follower, store, emitted } = openFollower({ isShared: true, lifetime: 1000 });
    await follower.state();
    Object.assign(store, { idSequence: 2, changed: [{ kind: 'app', name: 'web' }] });
    await follower.state();
    expect(emitted).toEqual([['app/web']]);
    Object.assign(store, { idSequence: 3, changed: null });
    await follower.state();
    await follower.state();
    expect(emitted).toEqual([['app/web'], null]);
  });

  it('says again what has changed if the store failed to tell', async () => {
    const { follower, store, emitted } = openFollower({ isShared: true, lifetime: 1000 });
    await follower.state();
    store.idSequence = 2;
    Object.defineProperty(store, 'changed', { get: () => failing(), configurable: true });
    await expect(follower.state()).rejects.toThrow('the store is away');
    Object.defineProperty(store, 'changed', { value: null });
    await follower.state();
    expect(emitted).toEqual([null]);
  });

  it('reads the state for polls when the latest read is old, once for all that ask meanwhile', async () => {
    const { follower, clock, store } = openFollower({ isShared: true, lifetime: 1000 });
    await Promise.all([follower.check(), follower.check()]);
    clock.now = 999;
    await follower.check();
    expect([store.reads, follower.isFresh()]).toEqual([1, true]);
    clock.now = 1000;
    expect(follower.isFresh()).toBe(false);
    await follower.check();
    expect(store.reads).toBe(2);
  });
});

describe('a follower of a store that one process has for itself', () => {
  it('reads it again only when it has expired, and never says that others have changed it', async () => {
    const { follower, clock, store, emitted } = openFollower({
      isShared: false,
      lifetime: Number.POSITIVE_INFINITY,
    });
    await follower.check();
    clock.now = 1e9;
    store.idSequence = 2;
    await follower.check();
    expect([store.reads, follower.latest().revision]).toEqual([1, 'at 1']);
    follower.expire();
    expect(follower.isFresh()).toBe(false);
    await follower.check();
    expect([store.reads, follower.latest().revision, emitted]).toEqual([2, 'at 2', []]);
  });

  it('takes no read for fresh that began before it expired', async () => {
    const { follower, store } = openFollower({ isShared: false, lifetime: Number.POSITIVE_INFINITY });
    let finish = (): void => undefined;
    store.delay = new Promise((resolve) => {
      finish = resolve;
    });
    const early = follower.check();
    await expect.poll(() => store.reads).toBe(1);
    store.idSequence = 2;
    follower.expire();
    const late = follower.check();
    finish();
    await Promise.all([early, late]);
    expect([store.reads, follower.latest().revision, follower.isFresh()]).toEqual([2, 'at 2', true]);
  });
});

function failing(): never {
  throw new Error('the store is away');
}
