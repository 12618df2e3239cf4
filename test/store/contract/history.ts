import { describe, expect, it } from 'vitest';
import type { Entry, EntryQuery } from '../../../src/store/entry.ts';
import type { HistoryStore } from '../../../src/store/history/port.ts';
import { ALL, change, entry, STATE } from './entries.ts';
import {
  AT,
  acts,
  app,
  appStep,
  CONTEXT,
  group,
  groupStep,
  type OpenStore,
  pass,
  rejection,
  useStore,
} from './support.ts';

const A = { path: 'apps/web.yaml', blob: 'a' };
const B = { path: 'apps/web.yaml', blob: 'b' };

async function add(store: HistoryStore, entries: Entry[], supersedes = false): Promise<boolean> {
  const expected = await store.historyState();
  const newest = Math.max(expected?.newest ?? 0, ...entries.map(({ n }) => n));
  return store.addEntries({ expected, next: { ...(expected ?? STATE), newest }, entries, supersedes });
}

async function numbers(store: HistoryStore, query: Partial<EntryQuery>): Promise<number[]> {
  const { entries } = await store.entries({ ...ALL, ...query }, null, 100);
  return entries.map(({ n }) => n);
}

export function historyContract(open: OpenStore): void {
  const test = useStore(open);

  describe('nextAct', () => {
    it('has what each applied revision changed: ids, names of fields, files; no values', async () => {
      await pass(test.store, [appStep('web', app('nginx'), A), groupStep('lab', group('web'))], 'r1');
      await pass(test.store, [appStep('web', app('secret', { running: false }), B)], 'r2');
      await pass(test.store, [groupStep('lab', null), appStep('web', null)], 'r3');
      const found = await acts(test.store);
      expect(found.map(({ applied }) => applied)).toEqual([
        { revision: 'r1', before: null, branch: null },
        { revision: 'r2', before: 'r1', branch: null },
        { revision: 'r3', before: 'r2', branch: null },
      ]);
      const lab = { path: 'desired-state/some.yaml', blob: 'b10b' };
      const web = { kind: 'app', name: 'web' };
      expect(found.map(({ changes }) => changes)).toEqual([
        [
          { ...web, change: 'create', id: 1, fields: [], before: null, after: A },
          {
            kind: 'device_group',
            name: 'lab',
            change: 'create',
            id: 1,
            fields: [],
            before: null,
            after: lab,
          },
          { kind: 'prune', name: 'lab', change: 'create', id: 1, fields: [], before: null, after: null },
        ],
        [{ ...web, change: 'update', id: 2, fields: ['container_image', 'running'], before: A, after: B }],
        [
          {
            kind: 'device_group',
            name: 'lab',
            change: 'delete',
            id: null,
            fields: [],
            before: lab,
            after: null,
          },
          { ...web, change: 'delete', id: null, fields: [], before: B, after: null },
        ],
      ]);
      expect(JSON.stringify(found)).not.toContain('secret');
    });

    it('has a file that changed without a change for devices', async () => {
      await pass(test.store, [appStep('web', app('nginx'), A)], 'r1');
      const { sequence } = await test.store.state();
      const claimed = await test.store.claimHead(sequence, 'r2', AT);
      const origins = [{ kind: 'app', name: 'web', origin: B }] as const;
      await test.store.apply({ revision: 'r2', sequence: claimed, at: AT, steps: [], origins, rules: 'r1' });
      expect((await acts(test.store))[1]?.changes).toEqual([
        { kind: 'app', name: 'web', change: 'file', id: 1, fields: [], before: A, after: B },
      ]);
    });

    it('has the id sequence of the store since then', async () => {
      const sequences: number[] = [];
      const note = async () => sequences.push((await test.store.state()).idSequence);
      await pass(test.store, [appStep('web', app('nginx')), groupStep('lab', group('web'))], 'r1').then(note);
      await pass(test.store, [], 'r2').then(note);
      await test.store.restartApp('web', CONTEXT).then(note);
      await test.store.pruneAll(CONTEXT).then(note);
      await test.store
        .logOperation({ ...CONTEXT, action: 'restart', name: 'web', ids: { web: 3 } })
        .then(note);
      expect((await acts(test.store)).map(({ idSequence }) => idSequence)).toEqual(sequences);
      expect(sequences).toEqual([1, 1, 2, 3, 3]);
    });

    it('has nothing of a batch that changes nothing', async () => {
      await pass(test.store, [appStep('web', app('nginx'), A)], 'r1');
      await pass(test.store, [appStep('web', app('nginx'), A)], 'r1');
      expect(await acts(test.store)).toHaveLength(1);
    });

    it('has each operation, and the ids that it gave', async () => {
      await pass(test.store, [appStep('web', app('nginx')), groupStep('lab', group('web'))]);
      await test.store.restartApp('web', CONTEXT);
      await test.store.pruneGroup('lab', CONTEXT);
      await test.store.pruneAll(CONTEXT);
      await test.store.logOperation({ ...CONTEXT, action: 'restart', name: 'web', ids: { web: 3 } });
      const operations = (await acts(test.store)).slice(1);
      expect(operations.map(({ applied, operation }) => ({ applied, operation }))).toEqual(
        (['restart', 'prune', 'prune-all', 'restart'] as const).map((action, index) => ({
          applied: null,
          operation: {
            action,
            name: ['web', 'lab', null, 'web'][index],
            actor: CONTEXT.actor,
            requestId: CONTEXT.requestId,
          },
        })),
      );
      expect(operations.map(({ changes }) => changes.map(({ kind, name, id }) => [kind, name, id]))).toEqual([
        [['app', 'web', 2]],
        [['prune', 'lab', 2]],
        [['prune', 'lab', 3]],
        [['app', 'web', 3]],
      ]);
    });

    it('has nothing of an operation that was refused', async () => {
      await pass(test.store, [appStep('web', app('nginx'))]);
      await rejection(test.store.restartApp('web', CONTEXT, ['"7"']));
      await test.store.pruneGroup('nobody', CONTEXT);
      expect(await acts(test.store)).toHaveLength(1);
    });

    it('has all of an act that is too long for one row', async () => {
      const names = Array.from({ length: 2500 }, (_, index) => `app-${index}`);
      const ids = Object.fromEntries(names.map((name, index) => [name, index + 1]));
      await test.store.logOperation({ ...CONTEXT, action: 'restart', name: null, ids });
      expect((await acts(test.store))[0]?.changes.map(({ name }) => name)).toEqual(names);
    });
  });

  describe('addEntries', () => {
    it('adds entries and moves the state on, which a reopened store has, too', async () => {
      expect(await test.store.historyState()).toBeNull();
      expect(await add(test.store, [entry(1)])).toBe(true);
      const store = await test.reopen();
      expect(await store.historyState()).toEqual({ ...STATE, newest: 1 });
      const { n, ...rest } = entry(1);
      expect(await store.entry(1)).toEqual({ n, ...rest, changesTotal: 1, effectsTotal: 0 });
      expect(await store.entry(2)).toBeNull();
    });

    it('deletes the acts that the state has, and acts after them have higher numbers', async () => {
      await pass(test.store, [appStep('web', app('nginx'))], 'r1');
      await test.store.restartApp('web', CONTEXT);
      const [first, second] = await acts(test.store);
      const indexed = { ...STATE, act: first?.number ?? 0 };
      await test.store.addEntries({ expected: null, next: indexed, entries: [], supersedes: false });
      expect(await acts(test.store)).toEqual([second]);
      const next = { ...indexed, act: second?.number ?? 0 };
      await test.store.addEntries({ expected: indexed, next, entries: [], supersedes: false });
      expect(await acts(test.store)).toEqual([]);
      const store = await test.reopen();
      await store.restartApp('web', CONTEXT);
      const [third, ...others] = await acts(store);
      expect(others).toEqual([]);
      expect(third?.number).toBeGreaterThan(second?.number ?? 0);
      expect(await store.nextAct(next.act)).toEqual(third);
    });

    it('changes nothing if the state is not the expected one', async () => {
      await add(test.store, [entry(1)]);
      const next = { ...STATE, newest: 2 };
      const batch = { expected: null, next, entries: [entry(2)], supersedes: false };
      expect(await test.store.addEntries(batch)).toBe(false);
      expect(await test.store.historyState()).toEqual({ ...STATE, newest: 1 });
      expect(await test.store.entry(2)).toBeNull();
    });

    it('adds once what many add at the same time', async () => {
      const expected = await test.store.historyState();
      const batch = { expected, next: { ...STATE, newest: 1 }, entries: [entry(1)], supersedes: false };
      const added = await Promise.all(Array.from({ length: 5 }, () => test.store.addEntries(batch)));
      expect(added.filter(Boolean)).toHaveLength(1);
      expect((await test.store.entries(ALL, null, 10)).total).toBe(1);
    });

    it('turns refused entries into superseded ones where they are', async () => {
      await add(test.store, [entry(1, { kind: 'refused', state: 'refused' }), entry(2)]);
      await add(test.store, [entry(3)], true);
      expect(await test.store.entry(1)).toMatchObject({ kind: 'refused', state: 'superseded' });
      expect(await test.store.entry(2)).toMatchObject({ state: 'applied' });
    });

    it('keeps all changes of a long entry, of which a list shows the first', async () => {
      const changes = Array.from({ length: 2500 }, (_, index) => change(`app/app-${index}`, 'running'));
      await add(test.store, [entry(1, { changes })]);
      expect((await test.store.entry(1))?.changes).toEqual(changes);
      const { entries } = await test.store.entries(ALL, null, 10);
      expect(entries).toMatchObject([{ changes: changes.slice(0, 20), changesTotal: 2500 }]);
      expect(await numbers(test.store, { keys: [['object:app/app-2499']] })).toEqual([1]);
    });
  });

  it('firstSince and revisionBefore: what was changed first after an id sequence, and what was applied before it', async () => {
    const changes = [change('app/web')];
    await add(test.store, [
      entry(1, { idSequence: 2, changes }),
      entry(2, { idSequence: 4 }),
      entry(3, {
        idSequence: 6,
        changes: [...Array.from({ length: 2000 }, (_, n) => change(`app/x-${n}`)), ...changes],
      }),
      entry(4, { kind: 'prune', idSequence: 7, revision: null, changes: [change('device_group/edge')] }),
      entry(5, { changes }),
    ]);
    const firstSince = async (idSequence: number, ...objects: string[]) =>
      (await test.store.firstSince(idSequence, objects))?.n ?? null;
    expect(await firstSince(0, 'app/web')).toBe(1);
    expect(await firstSince(2, 'app/web')).toBe(3);
    expect(await firstSince(2, 'app/app-2', 'device_group/edge')).toBe(2);
    expect(await firstSince(4, 'device_group/edge')).toBe(4);
    expect(await firstSince(6, 'app/web')).toBeNull();
    expect(await Promise.all([2, 6, 8].map((at) => test.store.revisionBefore(at)))).toEqual([
      null,
      '2222',
      '3333',
    ]);
  });

  describe('entries', () => {
    it('come newest first, in pages, with the number of all that match', async () => {
      await add(test.store, [entry(1), entry(2), entry(3), entry(0), entry(-1)]);
      const first = await test.store.entries(ALL, null, 2);
      expect({ total: first.total, ns: first.entries.map(({ n }) => n) }).toEqual({ total: 5, ns: [3, 2] });
      const second = await test.store.entries(ALL, 2, 3);
      expect({ total: second.total, ns: second.entries.map(({ n }) => n) }).toEqual({
        total: 5,
        ns: [1, 0, -1],
      });
    });

    it.each<{ name: string; query: Partial<EntryQuery>; found: number[] }>([
      { name: 'an object', query: { keys: [['object:app/web']] }, found: [3, 1] },
      {
        name: 'one of several objects',
        query: { keys: [['object:app/web', 'object:app/db']] },
        found: [3, 2, 1],
      },
      { name: 'a field', query: { keys: [['field:running']] }, found: [3, 2] },
      { name: 'a field of an object', query: { keys: [['object:app/web field:running']] }, found: [3] },
      { name: 'all of several keys', query: { keys: [['object:app/web'], ['actor:ben']] }, found: [3] },
      {
        name: 'one of two keys that it has both',
        query: { keys: [['actor:ana', 'actor:eve']] },
        found: [2, 1],
      },
      {
        name: 'all filters at once',
        query: {
          keys: [['object:app/db', 'object:app/web'], ['actor:ana']],
          kinds: ['commit'],
          since: AT + 1,
          until: AT + 2,
          text: 'web',
        },
        found: [1],
      },
      { name: 'an author', query: { keys: [['actor:eve']] }, found: [2] },
      { name: 'an address', query: { keys: [['actor:ana@example.com']] }, found: [2, 1] },
      { name: 'a request', query: { keys: [['request:r-1']] }, found: [3] },
      { name: 'kinds', query: { kinds: ['restart', 'prune'] }, found: [3] },
      { name: 'times', query: { since: AT + 2, until: AT + 2 }, found: [2] },
      { name: 'a text of the subject, in any case', query: { text: 'ROLL' }, found: [2] },
      { name: 'a text of a name', query: { text: 'd' }, found: [2] },
      { name: 'no text of a kind', query: { text: 'app' }, found: [] },
      { name: 'a text as it is, not as a pattern', query: { text: '%' }, found: [] },
    ])('are found by $name', async ({ query, found }) => {
      const ben = { name: 'ben', email: null, via: 'api' } as const;
      await add(test.store, [
        entry(1, { changes: [change('app/web', 'container_image')] }),
        entry(2, {
          subject: 'Roll out',
          authors: ['ana', 'eve'],
          changes: [change('app/db', 'running')],
        }),
        entry(3, {
          kind: 'restart',
          actor: ben,
          authors: [],
          requestId: 'r-1',
          changes: [change('app/web', 'running')],
        }),
      ]);
      const page = await test.store.entries({ ...ALL, ...query }, null, 100);
      expect(page.entries.map(({ n }) => n)).toEqual(found);
      expect(page.total).toBe(found.length);
      const older = await test.store.entries({ ...ALL, ...query }, 3, 1);
      expect(older.entries.map(({ n }) => n)).toEqual(found.filter((n) => n < 3).slice(0, 1));
      expect(older.total).toBe(found.length);
    });

    it('lead from the first digits of a revision to all of them, if these are enough', async () => {
      await add(test.store, [entry(1, { revision: 'ab12' }), entry(2, { revision: 'ab34' })]);
      expect(await test.store.revisionOf('ab3')).toBe('ab34');
      expect(await test.store.revisionOf('ab34')).toBe('ab34');
      expect(await test.store.revisionOf('ab')).toBeNull();
      expect(await test.store.revisionOf('c')).toBeNull();
    });
  });
}
