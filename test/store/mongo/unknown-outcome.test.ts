import { describe, expect, it } from 'vitest';
import { HoldfastError, kindOf } from '../../../src/errors.ts';
import type { Documents } from '../../../src/store/root/documents.ts';
import { operationsOf } from '../contract/support.ts';
import { calmStore, ModelDatabase } from './model.ts';

const ENTRY = { actor: 'a', action: 'restart', name: 'web', requestId: 'r', ids: { web: 1 } } as const;

/**
 * Makes one write whose connection breaks, before or after the database has executed it, while another manager writes
 * `others` times. Resolves to how many times the write happened, and to the kind of its error.
 */
async function interruptedWrite({ isExecuted, others }: { isExecuted: boolean; others: number }) {
  const database = new ModelDatabase();
  const other = calmStore(database);
  let isBroken = false;
  const breaking = (documents: Documents): Documents =>
    new Proxy(documents, {
      get: (target, method) => {
        if (method !== 'swapRoot' || isBroken) return Reflect.get(target, method, target).bind(target);
        return async (...call: Parameters<Documents['swapRoot']>) => {
          isBroken = true;
          if (isExecuted) await target.swapRoot(...call);
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
  const entries = await operationsOf(other);
  expect(entries).toHaveLength(others + entries.filter(({ at }) => at === 0).length);
  return { happened: entries.filter(({ at }) => at === 0).length, error };
}

// A root remembers the writers of its last 64 versions.
describe('a write whose connection breaks', () => {
  it.each([
    [
      'succeeds if it was executed, and its root is still remembered after 63 other writes',
      { isExecuted: true, others: 63 },
      { happened: 1, error: null },
    ],
    [
      'is reported as unavailable, and not repeated, if it was executed and is forgotten after 64 other writes',
      { isExecuted: true, others: 64 },
      { happened: 1, error: 'unavailable' },
    ],
    ['is repeated if it was not executed', { isExecuted: false, others: 0 }, { happened: 1, error: null }],
    [
      'is repeated if it was not executed, after 64 other writes',
      { isExecuted: false, others: 64 },
      { happened: 1, error: null },
    ],
    [
      'is reported as unavailable, and not repeated, if it was not executed and 65 other writes came in between',
      { isExecuted: false, others: 65 },
      { happened: 0, error: 'unavailable' },
    ],
  ])('%s', async (_title, broken, outcome) => {
    expect(await interruptedWrite(broken)).toEqual(outcome);
  });
});

/** Makes the first call of this method fail, for `calmStore`. */
function failingOnce(method: 'swapRoot' | 'put', error: Error) {
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

it('a write is not repeated after an error other than a broken connection', async () => {
  const database = new ModelDatabase();
  const store = calmStore(database, failingOnce('swapRoot', new TypeError('a bug')));
  await expect(store.logOperation({ ...ENTRY, at: 0 })).rejects.toThrow('a bug');
  expect(await operationsOf(calmStore(database))).toEqual([]);
});

it('a write succeeds once its root is replaced, even if its changes cannot be copied yet', async () => {
  const database = new ModelDatabase();
  const store = calmStore(
    database,
    failingOnce('put', new HoldfastError('unavailable', 'the connection broke')),
  );
  await store.logOperation({ ...ENTRY, at: 0 });
  expect(await operationsOf(calmStore(database))).toHaveLength(1);
});

it('a large write deletes its staged changes once they are settled', async () => {
  const database = new ModelDatabase();
  let staged = 0;
  const counting = (documents: Documents): Documents =>
    new Proxy(documents, {
      get: (target, key) => {
        if (key === 'swapRoot') staged = database.primary.staged.size;
        return Reflect.get(target, key, target).bind(target);
      },
    });
  await calmStore(database, counting, 1).logOperation({ ...ENTRY, at: 0 });
  expect([staged, database.primary.staged.size]).toEqual([1, 0]);
});
