import { beforeEach, describe, expect, it } from 'vitest';
import { type Kind, keyOf } from '../../../src/protocol/name.ts';
import { wrap } from '../../support/engine.ts';
import type { SharedFlatStore } from '../../support/flat-store.ts';
import { changesContract } from '../contract/changes.ts';
import { AT, app, appStep, CONTEXT, group, groupStep, pass, rejection, seed } from '../contract/support.ts';
import { calmStore, ModelDatabase, type ModelStore } from './model.ts';

let database: ModelDatabase;
let store: ModelStore;

async function mark(): Promise<string> {
  return (await store.state()).mark ?? '';
}

/** The sorted keys of the objects that were changed and deleted since a mark; null if the store does not know. */
async function changedSince(since: string): Promise<[changed: string[], deleted: string[]] | null> {
  const changes = await store.changedObjects(since);
  if (changes === null) return null;
  const keys = (list: readonly { kind: Kind; name: string }[]): string[] =>
    list.map(({ kind, name }) => keyOf(kind, name)).sort();
  return [keys(changes.objects), keys(changes.gone)];
}

beforeEach(async () => {
  database = new ModelDatabase();
  store = calmStore(database);
  await pass(store, [appStep('web', app('v1')), appStep('db', app('v1')), groupStep('edge', group('web'))]);
});

describe('a store that several managers share', () => {
  changesContract(async () => {
    const shared = new ModelDatabase();
    // It has no reports.
    const open = () => calmStore(shared) as unknown as SharedFlatStore;
    return { store: open(), reopen: async () => open(), cleanup: async () => undefined };
  });
});

describe('changedObjects of a store in MongoDB', () => {
  it('returns just the objects that changed since the mark, none if nothing changed', async () => {
    const since = await mark();
    expect(await changedSince(since)).toEqual([[], []]);
    await pass(store, [appStep('web', app('v2')), appStep('gone', app('x'))], 'r2');
    const between = await mark();
    await pass(store, [appStep('gone', null)], 'r3');
    expect(await changedSince(since)).toEqual([['app/web'], ['app/gone']]);
    expect(await changedSince(between)).toEqual([[], ['app/gone']]);
  });

  it('includes objects whose ids a restart or prune has raised, and apps that a seeding has removed', async () => {
    const since = await mark();
    await store.restartApp('db', CONTEXT);
    await store.pruneGroup('edge', CONTEXT);
    await seed(store, {
      seeds: [{ kind: 'app', name: 'web', last: 90, floor: 0, hash: 'ab' }],
      idSequence: 0,
    });
    expect(await changedSince(since)).toEqual([['app/db', 'device_group/edge'], ['app/web']]);
  });

  it('cannot be asked before the first write, when there is no mark', async () => {
    expect((await calmStore(new ModelDatabase()).state()).mark).toBeNull();
  });

  it('returns null for a mark that the root no longer remembers, after 64 writes', async () => {
    const since = await mark();
    for (let write = 0; write < 63; write += 1) await store.markAttempted('r', AT);
    expect(await changedSince(since)).toEqual([[], []]);
    await store.markAttempted('r', AT);
    expect(await changedSince(since)).toBeNull();
  });

  it('returns null for a mark read before a backup was restored, also once its version is reached again', async () => {
    const backup = structuredClone(database.primary);
    await pass(store, [appStep('web', app('v2'))], 'r2');
    const since = await mark();
    database.restore(backup);
    expect(await changedSince(since)).toBeNull();
    await pass(store, [appStep('db', app('v3'))], 'r3');
    expect((await mark()).split('/')[0]).toBe(since.split('/')[0]);
    expect(await changedSince(since)).toBeNull();
    await pass(store, [appStep('db', app('v4'))], 'r4');
    expect(await changedSince(since)).toBeNull();
  });
});

it('a write that a restored backup has not settled yet is settled and kept', async () => {
  const before = structuredClone(database.primary);
  await pass(store, [appStep('web', app('v2'))], 'r2');
  const after = structuredClone(database.primary);
  const changes = [...after.objects]
    .filter(([id, document]) => document.version !== before.objects.get(id)?.version)
    .map(([, document]) => ({ in: 'objects' as const, document }));
  before.root = { ...after.root, isSettled: false, changes };
  for (let write = 0; write < 3; write += 1) await store.restartApp('db', CONTEXT);

  database.restore(before);
  await store.restartApp('db', CONTEXT);
  expect((await store.object('app', 'web')).value?.content.container_image).toBe('v2');
});

describe('counters of a store in MongoDB', () => {
  it('reads only the counters that changed, and all of them after a seeding', async () => {
    let read: string[] = [];
    const counting = calmStore(database, (documents) =>
      wrap(documents, {
        objectsSince: async (...scan) => {
          const found = await documents.objectsSince(...scan);
          read = found.map(({ _id }) => _id);
          return found;
        },
      }),
    );
    const { idSequence } = await store.state();
    await store.restartApp('db', CONTEXT);
    expect(await counting.counters(idSequence)).toMatchObject([{ kind: 'app', name: 'db', last: 2 }]);
    expect(read).toEqual(['app/db']);
    await seed(store, { seeds: [], idSequence: 0 });
    expect(await counting.counters(idSequence + 1)).toHaveLength(4);
    expect(read).toHaveLength(3);
  });

  it('returns all counters if a seeding happens during the read', async () => {
    const { idSequence } = await store.state();
    await store.restartApp('db', CONTEXT);
    let isFirst = true;
    const interrupted = calmStore(database, (documents) =>
      wrap(documents, {
        objectsSince: async (...scan) => {
          const found = await documents.objectsSince(...scan);
          if (isFirst) {
            isFirst = false;
            const nine = { kind: 'app', name: 'db', last: 9, floor: 0, hash: null } as const;
            await seed(store, { seeds: [nine], idSequence: 0 });
            return documents.objectsSince(...scan);
          }
          return found;
        },
      }),
    );
    expect(await interrupted.counters(idSequence)).toHaveLength(4);
  });
});

it('rejects a pass with an outdated sequence before it reads any object', async () => {
  let reads = 0;
  const counting = calmStore(database, (documents) =>
    wrap(documents, {
      objects: (ids) => {
        reads += 1;
        return documents.objects(ids);
      },
    }),
  );
  const { sequence } = await counting.state();
  const steps = [appStep('web', app('v2'))];
  const batch = { revision: 'r2', sequence, at: AT, steps, origins: [], rules: 'r1' };
  await store.claimHead(sequence, 'r3', AT);
  expect(await rejection(counting.apply(batch))).toBe('conflict');
  expect(reads).toBe(0);
});
