import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { ObjectKey } from '../../../src/desired/name.ts';
import { createInfoCache } from '../../../src/http/info/cache.ts';
import type { GroupInfo, StoreState } from '../../../src/store/store.ts';

/** A cache before something that answers when the test says so, with a clock to move. */
function openCache(lifetime = 10_000) {
  const clock = { now: 0 };
  const store = {
    version: '1',
    state: {} as Partial<StoreState>,
    isAway: false,
    looks: 0,
    changed: null as ObjectKey[] | null,
    slowness: Promise.resolve(),
  };
  const asked: { resolve(version: string | null): void; reject(error: Error): void }[] = [];
  const infoOf = (version: string): GroupInfo => ({
    group: { name: 'edge', oid: '', deviceGroupId: 1, pruneId: 1, content: { apps: ['web'] } },
    apps: [{ name: 'web', oid: version, appId: 1, content: {} as never }],
    revision: store.version,
  });
  const cache = createInfoCache({
    store: {
      groupInfo: () =>
        new Promise((resolve, reject) => {
          asked.push({ resolve: (version) => resolve(version === null ? null : infoOf(version)), reject });
        }),
      state: async () => {
        store.looks += 1;
        if (store.isAway) throw new Error('the store is away');
        const state = { ...store.state, applied: { revision: store.version, at: 0 } } as StoreState;
        await store.slowness;
        return state;
      },
      changedForDevices: async () => store.changed,
    },
    render: async ({ apps }) => apps[0]?.oid ?? '',
    lifetime,
    elapsed: () => clock.now,
    storeTimeout: () => new Promise(() => undefined),
  });
  const read = async (): Promise<string | null> => (await cache.read('edge'))?.body.toString() ?? null;
  /** Reads with this answer. */
  const readWith = async (version: string | null): Promise<string | null> => {
    const before = asked.length;
    const result = read();
    await expect.poll(() => asked.length).toBe(before + 1);
    asked.at(-1)?.resolve(version);
    return result;
  };
  return { cache, clock, store, asked, read, readWith };
}

it.each([{ fleet: 'another' }, { sequence: 2 }, { idSequence: 2 }])(
  'asks again for a reply of a store that was as it is now but for %j',
  async (difference) => {
    const { clock, store, readWith } = openCache();
    await readWith('one');
    store.state = difference;
    clock.now = 10_000;
    expect(await readWith('two')).toBe('two');
  },
);

it('shares a read with later callers while an older one, from before a change, comes to its end', async () => {
  const { cache, asked, read } = openCache();
  const before = read();
  await expect.poll(() => asked.length).toBe(1);
  cache.invalidate(null);
  const after = read();
  await expect.poll(() => asked.length).toBe(2);
  asked[0]?.resolve('old');
  await before;
  const later = read();
  await setImmediate();
  expect(asked.length).toBe(2);
  asked[1]?.resolve('new');
  expect([await after, await later]).toEqual(['new', 'new']);
});

it('asks again when a reply is as old as it may be', async () => {
  const { clock, store, asked, read, readWith } = openCache();
  expect(await readWith('one')).toBe('one');
  store.version = '2';
  clock.now = 9999;
  expect([await read(), asked.length]).toEqual(['one', 1]);
  clock.now = 10_000;
  expect(await readWith('two')).toBe('two');
});

it('serves a reply on for as long as the store is what it was made of', async () => {
  const { clock, store, asked, read, readWith } = openCache();
  await readWith('one');
  for (const now of [10_000, 19_999, 20_000, 35_000]) {
    clock.now = now;
    expect(await read()).toBe('one');
  }
  expect([asked.length, store.looks]).toEqual([1, 4]);
  store.version = '2';
  clock.now = 44_999;
  expect(await read()).toBe('one');
  clock.now = 45_000;
  expect(await readWith('two')).toBe('two');
});

it('serves on what the changes of the store do not touch, under the revision that it holds for', async () => {
  const { cache, clock, store, asked, read, readWith } = openCache();
  await readWith('one');
  for (const [version, now] of [
    ['2', 10_000],
    ['3', 20_000],
    ['4', 35_000],
  ] as const) {
    Object.assign(store, { version, changed: [{ kind: 'app', name: 'db' }] });
    clock.now = now;
    expect([await read(), (await cache.read('edge'))?.revision]).toEqual(['one', version]);
  }
  expect(asked).toHaveLength(1);
  Object.assign(store, { version: '5', changed: [{ kind: 'app', name: 'web' }] });
  clock.now = 45_000;
  expect(await readWith('two')).toBe('two');
  Object.assign(store, { version: '6', changed: [{ kind: 'device_group', name: 'edge' }] });
  clock.now = 55_000;
  expect(await readWith('three')).toBe('three');
});

it('says no older revision of a reply than it was made at', async () => {
  const { cache, clock, store, asked, read } = openCache();
  const early = read();
  await expect.poll(() => asked.length).toBe(1);
  let answer = (): void => undefined;
  store.slowness = new Promise((resolve) => {
    answer = resolve;
  });
  Object.assign(store, { version: '2', changed: [] });
  clock.now = 10_000;
  const other = cache.read('other');
  await expect.poll(() => store.looks).toBe(2);
  store.version = '3';
  asked[0]?.resolve('one');
  await early;
  answer();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.resolve('other');
  await other;
  const again = cache.read('edge');
  await expect.poll(() => asked.length).toBe(3);
  asked[2]?.resolve('two');
  expect((await again)?.revision).toBe('3');
});

it('serves none on that a change was told of, whatever the store says', async () => {
  const { cache, clock, readWith } = openCache();
  await readWith('one');
  clock.now = 10_000;
  cache.invalidate(['app/web']);
  expect(await readWith('two')).toBe('two');
});

it('looks at the store each time where the cache is turned off', async () => {
  const { store, asked, read, readWith } = openCache(0);
  await readWith('one');
  expect(await read()).toBe('one');
  store.version = '2';
  expect(await readWith('two')).toBe('two');
  expect(asked).toHaveLength(2);
});

it('looks at the store once for all groups', async () => {
  const { cache, clock, store, asked } = openCache();
  const groups = Array.from({ length: 20 }, (_, index) => `group-${index}`);
  const all = Promise.all(groups.map((group) => cache.read(group)));
  await expect.poll(() => asked.length).toBe(20);
  for (const { resolve } of asked) resolve('one');
  await all;
  clock.now = 9999;
  const later = cache.read('group-20');
  await expect.poll(() => asked.length).toBe(21);
  asked.at(-1)?.resolve('one');
  await later;
  expect(store.looks).toBe(1);
  clock.now = 10_000;
  expect(groups.map((group) => cache.ready(group))).toEqual(groups.map(() => null));
  await cache.read('group-7');
  expect(groups.map((group) => cache.ready(group)?.body.toString())).toEqual(groups.map(() => 'one'));
  expect([store.looks, asked.length]).toEqual([2, 21]);
  cache.invalidate(['device_group/group-3']);
  expect(cache.ready('group-3')).toBeNull();
  cache.invalidate(null);
  expect(groups.map((group) => cache.ready(group))).toEqual(groups.map(() => null));
});

it('asks again when an app or the group changed, and not for what has nothing to do with it', async () => {
  const { cache, asked, read, readWith } = openCache();
  await readWith('one');
  cache.invalidate(['app/other', 'device_group/other']);
  expect([await read(), asked.length]).toEqual(['one', 1]);
  cache.invalidate(['app/web']);
  expect(await readWith('two')).toBe('two');
  cache.invalidate(['device_group/edge']);
  expect(await readWith('three')).toBe('three');
});

it('keeps nothing that was read before a change and came after it', async () => {
  const { cache, asked, readWith, read } = openCache();
  const slow = read();
  await expect.poll(() => asked.length).toBe(1);
  cache.invalidate(['app/web']);
  asked[0]?.resolve('before');
  expect(await slow).toBe('before');
  expect(await readWith('after')).toBe('after');
  expect([await read(), asked.length]).toEqual(['after', 2]);
});

it('does not put an older reply over a newer one', async () => {
  const { cache, asked, read } = openCache();
  const slow = read();
  await expect.poll(() => asked.length).toBe(1);
  cache.invalidate(['app/web']);
  const quick = read();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.resolve('after');
  expect(await quick).toBe('after');
  asked[0]?.resolve('before');
  await slow;
  expect([await read(), asked.length]).toEqual(['after', 2]);
});

it('does not forget a group because it was not there before it was made', async () => {
  const { cache, asked, read } = openCache();
  const slow = read();
  await expect.poll(() => asked.length).toBe(1);
  cache.invalidate(['device_group/edge']);
  const quick = read();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.resolve('made');
  expect(await quick).toBe('made');
  asked[0]?.resolve(null);
  expect(await slow).toBeNull();
  expect([await read(), asked.length]).toEqual(['made', 2]);
});

it('goes on with the last good reply while nobody answers, and with none for a group that is gone', async () => {
  const { cache, store, asked, read, readWith } = openCache(0);
  await readWith('one');
  cache.invalidate(['app/web']);
  const failing = read();
  await expect.poll(() => asked.length).toBe(2);
  asked.at(-1)?.reject(new Error('the store is away'));
  expect(await failing).toBe('one');
  store.isAway = true;
  expect(await read()).toBe('one');
  store.isAway = false;
  expect(await readWith(null)).toBeNull();
  store.isAway = true;
  await expect(read()).rejects.toThrow('away');
});

it('counts the age of a reply from before it was read', async () => {
  const { clock, store, asked, read, readWith } = openCache();
  const slow = read();
  await expect.poll(() => asked.length).toBe(1);
  clock.now = 8000;
  asked[0]?.resolve('one');
  expect(await slow).toBe('one');
  store.version = '2';
  clock.now = 9999;
  expect(await read()).toBe('one');
  clock.now = 10_000;
  expect(await readWith('two')).toBe('two');
});

it('gives nobody what was read before the call where the cache is turned off', async () => {
  const { asked, read } = openCache(0);
  const early = read();
  await expect.poll(() => asked.length).toBe(1);
  const late = read();
  await expect.poll(() => asked.length).toBe(2);
  asked[1]?.resolve('after');
  expect(await late).toBe('after');
  asked[0]?.resolve('before');
  expect(await early).toBe('before');
});
