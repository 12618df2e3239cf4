import { expect, it } from 'vitest';
import { createInfoCache } from '../../src/http/info-cache.ts';
import type { GroupInfo } from '../../src/store/store.ts';

/** A cache before something that answers when the test says so, with a clock to move. */
function openCache(lifetime = 10_000) {
  const clock = { now: 0 };
  const asked: { resolve(version: string | null): void; reject(error: Error): void }[] = [];
  const infoOf = (version: string): GroupInfo => ({
    group: { name: 'edge', oid: '', deviceGroupId: 1, pruneId: 1, content: { apps: ['web'] } },
    apps: [{ name: 'web', oid: version, appId: 1, content: {} as never }],
    revision: null,
  });
  const cache = createInfoCache({
    groupInfo: () =>
      new Promise((resolve, reject) => {
        asked.push({ resolve: (version) => resolve(version === null ? null : infoOf(version)), reject });
      }),
    render: ({ apps }) => apps[0]?.oid ?? '',
    lifetime,
    elapsed: () => clock.now,
    patience: () => new Promise(() => undefined),
  });
  const read = async (): Promise<string | null> => (await cache.read('edge'))?.body.toString() ?? null;
  /** Reads with this answer. */
  const readWith = async (version: string | null): Promise<string | null> => {
    const result = read();
    asked.at(-1)?.resolve(version);
    return result;
  };
  return { cache, clock, asked, read, readWith };
}

it('asks again when a reply is as old as it may be', async () => {
  const { clock, asked, read, readWith } = openCache();
  expect(await readWith('one')).toBe('one');
  clock.now = 9999;
  expect([await read(), asked.length]).toEqual(['one', 1]);
  clock.now = 10_000;
  expect(await readWith('two')).toBe('two');
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
  cache.invalidate(['app/web']);
  asked[0]?.resolve('before');
  expect(await slow).toBe('before');
  expect(await readWith('after')).toBe('after');
  expect([await read(), asked.length]).toEqual(['after', 2]);
});

it('does not put an older reply over a newer one', async () => {
  const { cache, asked, read } = openCache();
  const slow = read();
  cache.invalidate(['app/web']);
  const quick = read();
  asked[1]?.resolve('after');
  expect(await quick).toBe('after');
  asked[0]?.resolve('before');
  await slow;
  expect([await read(), asked.length]).toEqual(['after', 2]);
});

it('goes on with the last good reply while nobody answers, and with none for a group that is gone', async () => {
  const { cache, asked, read, readWith } = openCache(0);
  await readWith('one');
  cache.invalidate(['app/web']);
  const failing = read();
  asked.at(-1)?.reject(new Error('the store is away'));
  expect(await failing).toBe('one');
  expect(await readWith(null)).toBeNull();
  const nothing = read();
  asked.at(-1)?.reject(new Error('the store is away'));
  await expect(nothing).rejects.toThrow('away');
});
