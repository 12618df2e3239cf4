import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CounterRow, Store } from '../../../src/store/store.ts';
import { type Action, anyAction, type Change, perform, type Served, servedBy, stepOf } from './ids-model.ts';
import { type OpenedStore, pass, seed } from './support.ts';

type WithStore = (body: (opened: OpenedStore) => Promise<void>) => Promise<void>;

const FLOOR = 1_800_000_000;
const HISTORY = fc.array(anyAction, { minLength: 3, maxLength: 12 });

interface Life {
  /** Everything that devices were ever served, by counter. */
  served: Map<string, { id: number; content: string }[]>;
  /** What they are served at the end. */
  now: Served;
  /** The counters after each action. */
  records: CounterRow[][];
}

/** The life of a store from its first action to its last. */
async function live(opened: OpenedStore, actions: readonly Action[]): Promise<Life> {
  const life: Life = { served: new Map(), now: new Map(), records: [] };
  let { store } = opened;
  for (const action of actions) {
    store = await perform(opened, store, action);
    life.now = await servedBy(store);
    for (const [key, one] of life.now) life.served.set(key, [...(life.served.get(key) ?? []), one]);
    life.records.push(await store.counters(0));
  }
  return life;
}

/** What git holds at the end: the last variant of each object. */
function head(actions: readonly Action[]): Change[] {
  const changes = actions.flatMap((action) => (action.do === 'apply' ? action.changes : []));
  return [...new Map(changes.map((change) => [`${change.kind}/${change.name}`, change])).values()];
}

/** Brings a store that lost its memory to the head of git, as the first pass after a start does. */
async function recover(
  store: Store,
  seeds: readonly CounterRow[],
  actions: readonly Action[],
): Promise<Served> {
  await seed(store, { seeds: seeds.map((row) => ({ ...row, floor: FLOOR })), idSequence: 1000 });
  await pass(store, head(actions).map(stepOf));
  return servedBy(store);
}

/** A device acts on an id only if it is above all that it saw; it may have seen everything. */
function expectSafe(life: Life, now: Served): void {
  for (const [key, { id, content }] of now) {
    const others = (life.served.get(key) ?? []).filter((one) => one.content !== content);
    expect(Math.max(0, ...others.map((one) => one.id))).toBeLessThan(id);
  }
}

export function idsLoss(withStore: WithStore): void {
  describe('ids after a loss', () => {
    it('stay what they were in a store restored from any backup, with an up-to-date record', async () => {
      const property = fc.asyncProperty(HISTORY, fc.nat({ max: 12 }), async (actions, backup) => {
        await withStore(async (opened) => {
          const life = await live(opened, actions);
          await withStore(async (restored) => {
            await live(restored, actions.slice(0, backup));
            const store = await restored.reopen();
            const now = await recover(store, life.records.at(-1) ?? [], actions);
            expectSafe(life, now);
            expect(now).toEqual(life.now);
            const changed = head(actions).map((change) => ({ ...change, variant: 1 + (change.variant % 3) }));
            await pass(store, changed.map(stepOf));
            expectSafe(life, await servedBy(store));
          });
        });
      });
      await fc.assert(property, { numRuns: 25 });
    });

    it('are above all that was served where the record is old and gives no hash of what changed since', async () => {
      const property = fc.asyncProperty(HISTORY, fc.nat({ max: 11 }), async (actions, recorded) => {
        await withStore(async (opened) => {
          const life = await live(opened, actions);
          const since = new Set(
            head(actions.slice(recorded + 1)).map((change) => `${change.kind}/${change.name}`),
          );
          const record = life.records[Math.min(recorded, life.records.length - 1)] ?? [];
          const known = new Map((life.records.at(-1) ?? []).map((row) => [`${row.kind}/${row.name}`, row]));
          const old = new Map(record.map((row) => [`${row.kind}/${row.name}`, row]));
          const seeds = [...known].map(([key, { kind, name }]) => {
            const row = old.get(key) ?? { kind, name, last: 0, hash: null };
            return since.has(key) ? { ...row, hash: null } : row;
          });
          await withStore(async (lost) => expectSafe(life, await recover(lost.store, seeds, actions)));
        });
      });
      await fc.assert(property, { numRuns: 25 });
    });
  });
}
