import { describe, expect, it } from 'vitest';
import type { Documents } from '../../../src/store/mongo/documents.ts';
import { calmStore, ModelDatabase } from './model.ts';

describe('operations of a store in MongoDB', () => {
  it('reads little more of the log than it returns if entries have thousands of ids', async () => {
    let read = 0;
    const counting = (documents: Documents): Documents =>
      new Proxy(documents, {
        get: (target, method) => {
          if (method !== 'operations') return Reflect.get(target, method, target).bind(target);
          return async (before: number, limit: number) => {
            const found = await target.operations(before, limit);
            read += found.length;
            return found;
          };
        },
      });
    const store = calmStore(new ModelDatabase(), counting);
    const ids = Object.fromEntries(Array.from({ length: 2500 }, (_, index) => [`group-${index}`, index + 1]));
    for (let entry = 0; entry < 45; entry += 1)
      await store.logOperation({
        at: entry,
        actor: 'a',
        action: 'prune-all',
        name: null,
        requestId: 'r',
        ids,
      });
    const page = await store.operations(null, 1000);
    expect(page.map(({ at }) => at)).toEqual([44, 43, 42, 41]);
    expect(read).toBeLessThanOrEqual(32);
  });

  it('returns a full page of small entries, which takes several reads', async () => {
    const store = calmStore(new ModelDatabase());
    const entry = { actor: 'a', action: 'restart', name: 'web', requestId: 'r', ids: { web: 1 } } as const;
    for (let at = 0; at < 100; at += 1) await store.logOperation({ ...entry, at });
    const times = async (limit: number) => (await store.operations(null, limit)).map(({ at }) => at);
    expect(await times(90)).toEqual(Array.from({ length: 90 }, (_, index) => 99 - index));
    expect(await times(1000)).toHaveLength(100);
  });
});
