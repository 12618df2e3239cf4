import { expect, it } from 'vitest';
import { HoldfastError, kindOf } from '../../../src/errors.ts';
import type { Documents } from '../../../src/store/mongo/documents.ts';
import { calmStore, ModelDatabase } from './model.ts';

const ENTRY = { actor: 'a', action: 'restart', name: 'web', requestId: 'r', ids: { web: 1 } } as const;

/** Makes one write whose connection breaks while another manager writes. Resolves to how often it happened, and its error. */
async function brokenWrite({ isDone, others }: { isDone: boolean; others: number }) {
  const database = new ModelDatabase();
  const other = calmStore(database);
  let isBroken = false;
  const breaking = (documents: Documents): Documents =>
    new Proxy(documents, {
      get: (target, method) => {
        if (method !== 'swapHead' || isBroken) return Reflect.get(target, method, target).bind(target);
        return async (...call: Parameters<Documents['swapHead']>) => {
          isBroken = true;
          if (isDone) await target.swapHead(...call);
          for (let at = 1; at <= others; at += 1) await other.logOperation({ ...ENTRY, at });
          throw new HoldfastError('unavailable', 'the connection broke');
        };
      },
    });
  const error = await calmStore(database, breaking)
    .logOperation({ ...ENTRY, at: 0 })
    .then(
      () => null,
      (reason: unknown) => kindOf(reason),
    );
  const entries = await other.operations(null, 1000);
  expect(entries).toHaveLength(others + entries.filter(({ at }) => at === 0).length);
  return { happened: entries.filter(({ at }) => at === 0).length, error };
}

it.each([
  ['a write that happened, and 63 others', { isDone: true, others: 63 }, { happened: 1, error: null }],
  [
    'a write that happened, and one more than a head remembers',
    { isDone: true, others: 64 },
    { happened: 1, error: 'unavailable' },
  ],
  ['a write that did not happen', { isDone: false, others: 0 }, { happened: 1, error: null }],
  ['a write that did not happen, and 64 others', { isDone: false, others: 64 }, { happened: 1, error: null }],
  [
    'a write that did not happen, and one more than a head remembers',
    { isDone: false, others: 65 },
    { happened: 0, error: 'unavailable' },
  ],
])('is never made twice, and reported if its outcome is unknown: %s', async (_name, broken, outcome) => {
  expect(await brokenWrite(broken)).toEqual(outcome);
});

/** Lets the first call of this method fail. */
function failingOnce(method: 'swapHead' | 'put', error: Error) {
  let hasFailed = false;
  return (documents: Documents): Documents =>
    new Proxy(documents, {
      get: (target, key) => {
        if (key !== method || hasFailed) return Reflect.get(target, key, target).bind(target);
        hasFailed = true;
        return () => Promise.reject(error);
      },
    });
}

it('a write is not tried again after an error that says nothing of the connection', async () => {
  const database = new ModelDatabase();
  const store = calmStore(database, failingOnce('swapHead', new TypeError('a bug')));
  await expect(store.logOperation({ ...ENTRY, at: 0 })).rejects.toThrow('a bug');
  expect(await calmStore(database).operations(null, 10)).toEqual([]);
});

it('a write has happened once its head is there, even if its changes cannot be copied yet', async () => {
  const database = new ModelDatabase();
  const store = calmStore(
    database,
    failingOnce('put', new HoldfastError('unavailable', 'the connection broke')),
  );
  await store.logOperation({ ...ENTRY, at: 0 });
  expect(await calmStore(database).operations(null, 10)).toHaveLength(1);
});

it('nothing stays staged once a large write is settled', async () => {
  const database = new ModelDatabase();
  let staged = 0;
  const counting = (documents: Documents): Documents =>
    new Proxy(documents, {
      get: (target, key) => {
        if (key === 'swapHead') staged = database.primary.staged.size;
        return Reflect.get(target, key, target).bind(target);
      },
    });
  await calmStore(database, counting, 1).logOperation({ ...ENTRY, at: 0 });
  expect([staged, database.primary.staged.size]).toEqual([1, 0]);
});
