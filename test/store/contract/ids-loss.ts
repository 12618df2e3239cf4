import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import type { FlatStore } from '../../support/flat-store.ts';
import { type Action, anyAction, type Change, perform, type Served, servedBy, stepOf } from './ids-model.ts';
import { type OpenedStore, pass, seed } from './support.ts';

type WithStore = (body: (opened: OpenedStore) => Promise<void>) => Promise<void>;

const FLOOR = 1_800_000_000;
const anyActions = fc.array(anyAction, { minLength: 3, maxLength: 12 });

interface Run {
  /** Everything that devices were served, by counter. */
  served: Map<string, { id: number; content: string }[]>;
  /** What they are served at the end. */
  now: Served;
  /** The record of ids after each action. */
  records: CounterRow[][];
}

/** Performs the actions on a store. */
async function performAll(opened: OpenedStore, actions: readonly Action[]): Promise<Run> {
  const run: Run = { served: new Map(), now: new Map(), records: [] };
  let { store } = opened;
  for (const action of actions) {
    store = await perform(opened, store, action);
    run.now = await servedBy(store);
    for (const [key, one] of run.now) run.served.set(key, [...(run.served.get(key) ?? []), one]);
    run.records.push(await store.counters(0));
  }
  return run;
}

/** What git holds at the end: the last variant of each object. */
function head(actions: readonly Action[]): Change[] {
  const changes = actions.flatMap((action) => (action.do === 'apply' ? action.changes : []));
  return [...new Map(changes.map((change) => [`${change.kind}/${change.name}`, change])).values()];
}

/** Seeds a new or restored store and brings it to the head of git, as the first pass after a start does. */
async function recover(
  store: FlatStore,
  seeds: readonly CounterRow[],
  actions: readonly Action[],
): Promise<Served> {
  await seed(store, { seeds: seeds.map((row) => ({ ...row, floor: FLOOR })), idSequence: 1000 });
  await pass(store, head(actions).map(stepOf));
  return servedBy(store);
}

/**
 * Checks that each id is above those that were served with other contents: a device ignores an id that is not above
 * all that it saw, and it can have seen every one.
 */
function expectSafe(run: Run, now: Served): void {
  for (const [key, { id, content }] of now) {
    const others = (run.served.get(key) ?? []).filter((one) => one.content !== content);
    expect(Math.max(0, ...others.map((one) => one.id))).toBeLessThan(id);
  }
}

export function idsLoss(withStore: WithStore): void {
  describe('ids after the loss of a store', () => {
    it('are unchanged in a store restored from any backup, if the record is up to date', async () => {
      const property = fc.asyncProperty(anyActions, fc.nat({ max: 12 }), async (actions, backup) => {
        await withStore(async (opened) => {
          const run = await performAll(opened, actions);
          await withStore(async (restored) => {
            await performAll(restored, actions.slice(0, backup));
            const store = await restored.reopen();
            const now = await recover(store, run.records.at(-1) ?? [], actions);
            expectSafe(run, now);
            expect(now).toEqual(run.now);
            const changed = head(actions).map((change) => ({ ...change, variant: 1 + (change.variant % 3) }));
            await pass(store, changed.map(stepOf));
            expectSafe(run, await servedBy(store));
          });
        });
      });
      await fc.assert(property, { numRuns: 25 });
    });

    it('are above those that were served with other contents, if the record is old and lacks the hash of each later change', async () => {
      const property = fc.asyncProperty(anyActions, fc.nat({ max: 11 }), async (actions, recorded) => {
        await withStore(async (opened) => {
          const run = await performAll(opened, actions);
          const since = new Set(
            head(actions.slice(recorded + 1)).map((change) => `${change.kind}/${change.name}`),
          );
          const record = run.records[Math.min(recorded, run.records.length - 1)] ?? [];
          const known = new Map((run.records.at(-1) ?? []).map((row) => [`${row.kind}/${row.name}`, row]));
          const old = new Map(record.map((row) => [`${row.kind}/${row.name}`, row]));
          const seeds = [...known].map(([key, { kind, name }]) => {
            const row = old.get(key) ?? { kind, name, last: 0, hash: null };
            return since.has(key) ? { ...row, hash: null } : row;
          });
          await withStore(async (fresh) => expectSafe(run, await recover(fresh.store, seeds, actions)));
        });
      });
      await fc.assert(property, { numRuns: 25 });
    });
  });
}
