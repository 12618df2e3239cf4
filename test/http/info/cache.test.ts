import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createInfoCache } from '../../../src/http/info/cache.ts';
import type { ObjectKey } from '../../../src/protocol/name.ts';
import { createFollower } from '../../../src/reconcile/follower.ts';
import type { GroupInfo, StoreState } from '../../../src/store/objects/port.ts';

/**
 * A cache of a store that the test plays: it answers each read of a group (`reads`) itself, sets what checks of the store find
 * (`store`), and moves the clock. The body of a reply is the text with which its read was answered.
 */
function openCache(lifetime = 10_000) {
  const clock = { now: 0 };
  const store = {
    /** The applied revision. */
    revision: '1',
    /** Other parts of the store's state. */
    state: {} as Partial<StoreState>,
    isAway: false,
    /** How often the store was checked. */
    checks: 0,
    /** The objects that have changed since the last check; null if any may have. */
    changed: null as ObjectKey[] | null,
    /** Delays the result of a check. */
    delay: Promise.resolve(),
  };
  const reads: { resolve(text: string | null): void; reject(error: Error): void }[] = [];
  const infoOf = (text: string): GroupInfo => ({
    group: {
      kind: 'device_group' as const,
      name: 'edge',
      oid: '',
      deviceGroupId: 1,
      pruneId: 1,
      content: { apps: ['web'] },
    },
    apps: [{ kind: 'app', name: 'web', oid: text, appId: 1, content: {} as never }],
    revision: store.revision,
    fleet: 'abcd',
    idSequence: 1,
  });
  const elapsed = () => clock.now;
  const follower = createFollower({
    store: {
      state: async () => {
        store.checks += 1;
        if (store.isAway) throw new Error('the store is away');
        const state = { ...store.state, applied: { revision: store.revision, at: 0 } } as StoreState;
        await store.delay;
        return state;
      },
    },
    shared: { changedForDevices: async () => store.changed, changedObjects: async () => null },
    lifetime,
    elapsed,
    emit: (_, { keys }) => cache.invalidate(keys),
  });
  const cache = createInfoCache({
    store: {
      groupInfo: () =>
        new Promise((resolve, reject) => {
          reads.push({ resolve: (text) => resolve(text === null ? null : infoOf(text)), reject });
        }),
    },
    follower,
    isOff: lifetime === 0,
    render: async ({ apps }) => apps[0]?.oid ?? '',
    storeTimeout: () => new Promise(() => undefined),
  });
  const read = async (): Promise<string | null> => (await cache.read('edge'))?.body.toString() ?? null;
  /** Expects that the group is read from the store, and answers with this text. */
  const readWith = async (text: string | null): Promise<string | null> => {
    const before = reads.length;
    const result = read();
    await expect.poll(() => reads.length).toBe(before + 1);
    reads.at(-1)?.resolve(text);
    return result;
  };
  return { cache, clock, store, reads, read, readWith };
}

describe('createInfoCache', () => {
  it.each([{ fleet: 'another' }, { sequence: 2 }, { idSequence: 2 }])(
    'reads a group again if the state of the store differs only in %j',
    async (difference) => {
      const { clock, store, readWith } = openCache();
      await readWith('one');
      store.state = difference;
      clock.now = 10_000;
      expect(await readWith('two')).toBe('two');
    },
  );

  it('shares a read that began after a change with later callers, even when an older read ends', async () => {
    const { cache, reads, read } = openCache();
    const before = read();
    await expect.poll(() => reads.length).toBe(1);
    cache.invalidate(null);
    const after = read();
    await expect.poll(() => reads.length).toBe(2);
    reads[0]?.resolve('old');
    await before;
    const later = read();
    await setImmediate();
    expect(reads.length).toBe(2);
    reads[1]?.resolve('new');
    expect([await after, await later]).toEqual(['new', 'new']);
  });

  it('reads a group again once the reply is as old as CACHE_TIME and the store has changed', async () => {
    const { clock, store, reads, read, readWith } = openCache();
    expect(await readWith('one')).toBe('one');
    store.revision = '2';
    clock.now = 9999;
    expect([await read(), reads.length]).toEqual(['one', 1]);
    clock.now = 10_000;
    expect(await readWith('two')).toBe('two');
  });

  it('keeps serving a reply while checks find the store unchanged', async () => {
    const { clock, store, reads, read, readWith } = openCache();
    await readWith('one');
    for (const now of [10_000, 19_999, 20_000, 35_000]) {
      clock.now = now;
      expect(await read()).toBe('one');
    }
    expect([reads.length, store.checks]).toEqual([1, 4]);
    store.revision = '2';
    clock.now = 44_999;
    expect(await read()).toBe('one');
    clock.now = 45_000;
    expect(await readWith('two')).toBe('two');
  });

  it('keeps serving a reply, with the new revision, if only other objects have changed', async () => {
    const { cache, clock, store, reads, read, readWith } = openCache();
    await readWith('one');
    for (const [revision, now] of [
      ['2', 10_000],
      ['3', 20_000],
      ['4', 35_000],
    ] as const) {
      Object.assign(store, { revision, changed: [{ kind: 'app', name: 'db' }] });
      clock.now = now;
      expect([await read(), (await cache.read('edge'))?.revision]).toEqual(['one', revision]);
    }
    expect(reads).toHaveLength(1);
    Object.assign(store, { revision: '5', changed: [{ kind: 'app', name: 'web' }] });
    clock.now = 45_000;
    expect(await readWith('two')).toBe('two');
    Object.assign(store, { revision: '6', changed: [{ kind: 'device_group', name: 'edge' }] });
    clock.now = 55_000;
    expect(await readWith('three')).toBe('three');
  });

  it('never gives a reply the revision of a check that is older than the reply', async () => {
    const { cache, clock, store, reads, read } = openCache();
    const early = read();
    await expect.poll(() => reads.length).toBe(1);
    let finishCheck = (): void => undefined;
    store.delay = new Promise((resolve) => {
      finishCheck = resolve;
    });
    Object.assign(store, { revision: '2', changed: [] });
    clock.now = 10_000;
    const other = cache.read('other');
    await expect.poll(() => store.checks).toBe(2);
    store.revision = '3';
    reads[0]?.resolve('one');
    await early;
    finishCheck();
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.resolve('other');
    await other;
    expect([(await cache.read('edge'))?.revision, reads.length]).toEqual(['3', 2]);
  });

  it('reads a group again after a change is announced, even if a check finds the store unchanged', async () => {
    const { cache, clock, readWith } = openCache();
    await readWith('one');
    clock.now = 10_000;
    cache.invalidate(['app/web']);
    expect(await readWith('two')).toBe('two');
  });

  it('checks the store at each call if the cache is off', async () => {
    const { store, reads, read, readWith } = openCache(0);
    await readWith('one');
    expect(await read()).toBe('one');
    store.revision = '2';
    expect(await readWith('two')).toBe('two');
    expect(reads).toHaveLength(2);
  });

  it('checks the store once for all groups', async () => {
    const { cache, clock, store, reads } = openCache();
    const groups = Array.from({ length: 20 }, (_, index) => `group-${index}`);
    const all = Promise.all(groups.map((group) => cache.read(group)));
    await expect.poll(() => reads.length).toBe(20);
    for (const { resolve } of reads) resolve('one');
    await all;
    clock.now = 9999;
    const later = cache.read('group-20');
    await expect.poll(() => reads.length).toBe(21);
    reads.at(-1)?.resolve('one');
    await later;
    expect(store.checks).toBe(1);
    clock.now = 10_000;
    expect(groups.map((group) => cache.ready(group))).toEqual(groups.map(() => null));
    await cache.read('group-7');
    expect(groups.map((group) => cache.ready(group)?.body.toString())).toEqual(groups.map(() => 'one'));
    expect([store.checks, reads.length]).toEqual([2, 21]);
    cache.invalidate(['device_group/group-3']);
    expect(cache.ready('group-3')).toBeNull();
    cache.invalidate(null);
    expect(groups.map((group) => cache.ready(group))).toEqual(groups.map(() => null));
  });

  it('reads a group again after a change of it or of an app that it lists, but not of other objects', async () => {
    const { cache, reads, read, readWith } = openCache();
    await readWith('one');
    cache.invalidate(['app/other', 'device_group/other']);
    expect([await read(), reads.length]).toEqual(['one', 1]);
    cache.invalidate(['app/web']);
    expect(await readWith('two')).toBe('two');
    cache.invalidate(['device_group/edge']);
    expect(await readWith('three')).toBe('three');
  });

  it('does not keep a reply whose read began before a change and ended after it', async () => {
    const { cache, reads, readWith, read } = openCache();
    const slow = read();
    await expect.poll(() => reads.length).toBe(1);
    cache.invalidate(['app/web']);
    reads[0]?.resolve('before');
    expect(await slow).toBe('before');
    expect(await readWith('after')).toBe('after');
    expect([await read(), reads.length]).toEqual(['after', 2]);
  });

  it('does not replace a reply by one whose read began earlier', async () => {
    const { cache, reads, read } = openCache();
    const slow = read();
    await expect.poll(() => reads.length).toBe(1);
    cache.invalidate(['app/web']);
    const quick = read();
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.resolve('after');
    expect(await quick).toBe('after');
    reads[0]?.resolve('before');
    await slow;
    expect([await read(), reads.length]).toEqual(['after', 2]);
  });

  it('does not forget a new group when a read that began before its creation finds none', async () => {
    const { cache, reads, read } = openCache();
    const slow = read();
    await expect.poll(() => reads.length).toBe(1);
    cache.invalidate(['device_group/edge']);
    const quick = read();
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.resolve('created');
    expect(await quick).toBe('created');
    reads[0]?.resolve(null);
    expect(await slow).toBeNull();
    expect([await read(), reads.length]).toEqual(['created', 2]);
  });

  it('serves the last good reply while the store fails, but rejects for a group that was deleted', async () => {
    const { cache, store, reads, read, readWith } = openCache(0);
    await readWith('one');
    cache.invalidate(['app/web']);
    const failing = read();
    await expect.poll(() => reads.length).toBe(2);
    reads.at(-1)?.reject(new Error('the store is away'));
    expect(await failing).toBe('one');
    store.isAway = true;
    expect(await read()).toBe('one');
    store.isAway = false;
    expect(await readWith(null)).toBeNull();
    store.isAway = true;
    await expect(read()).rejects.toThrow('away');
  });

  it('counts the age of a reply from the start of its read', async () => {
    const { clock, store, reads, read, readWith } = openCache();
    const slow = read();
    await expect.poll(() => reads.length).toBe(1);
    clock.now = 8000;
    reads[0]?.resolve('one');
    expect(await slow).toBe('one');
    store.revision = '2';
    clock.now = 9999;
    expect(await read()).toBe('one');
    clock.now = 10_000;
    expect(await readWith('two')).toBe('two');
  });

  it('gives no caller a reply whose read began before the call, if the cache is off', async () => {
    const { reads, read } = openCache(0);
    const early = read();
    await expect.poll(() => reads.length).toBe(1);
    const late = read();
    await expect.poll(() => reads.length).toBe(2);
    reads[1]?.resolve('after');
    expect(await late).toBe('after');
    reads[0]?.resolve('before');
    expect(await early).toBe('before');
  });
});
