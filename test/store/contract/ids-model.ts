import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { contentHash } from '../../../src/ids/content-hash.ts';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import type { Step } from '../../../src/plan/step.ts';
import type { App } from '../../../src/protocol/app.ts';
import type { DeviceGroup } from '../../../src/protocol/device-group.ts';
import type { Kind } from '../../../src/protocol/name.ts';
import type { FlatStore } from '../../support/flat-store.ts';
import { app, appStep, CONTEXT, group, groupStep, type OpenedStore, pass, seed } from './support.ts';

const NAMES = ['a', 'b', 'constructor'] as const;
const APPS: readonly (App | null)[] = [null, app('v1'), app('v2'), app('v2', { running: false })];
const GROUPS: readonly (DeviceGroup | null)[] = [null, group(), group('x'), group('x', 'y')];

/** One change of one object: `variant` is an index of its contents, 0 deletes. */
export interface Change {
  kind: Kind;
  name: string;
  variant: number;
}

export type Action =
  | { do: 'apply'; changes: Change[] }
  | { do: 'restart' | 'prune'; name: string }
  | { do: 'prune-all' | 'seed' | 'reopen' };

const name = fc.constantFrom(...NAMES);
const change = fc.record({
  kind: fc.constantFrom<Kind>('app', 'device_group'),
  name,
  variant: fc.integer({ min: 0, max: 3 }),
});

export const anyAction: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('apply' as const),
      changes: fc.uniqueArray(change, { maxLength: 5, selector: (one) => `${one.kind}/${one.name}` }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('restart' as const, 'prune' as const), name }) },
  { weight: 1, arbitrary: fc.constantFrom<Action>({ do: 'prune-all' }, { do: 'seed' }, { do: 'reopen' }) },
);

export function stepOf({ kind, name, variant }: Change): Step {
  return kind === 'app' ? appStep(name, APPS[variant] ?? null) : groupStep(name, GROUPS[variant] ?? null);
}

/** Performs an action. Resolves to the store, which is another object after `reopen`. */
export async function perform(opened: OpenedStore, store: FlatStore, action: Action): Promise<FlatStore> {
  if (action.do === 'reopen') return opened.reopen();
  if (action.do === 'apply') await pass(store, action.changes.map(stepOf));
  else if (action.do === 'restart') await store.restartApp(action.name, CONTEXT);
  else if (action.do === 'prune') await store.pruneGroup(action.name, CONTEXT);
  else if (action.do === 'seed') await seed(store, { seeds: [], idSequence: 0 });
  else await store.pruneAll(CONTEXT);
  return store;
}

/** What devices are served: the id and its content, by counter (`app/web`, `prune/edge`). */
export type Served = Map<string, { id: number; content: string }>;

export async function servedBy(store: FlatStore): Promise<Served> {
  const served: Served = new Map();
  for (const name of NAMES) {
    const { value: app } = await store.object('app', name);
    if (app !== null) served.set(`app/${name}`, { id: app.appId, content: JSON.stringify(app.content) });
    const { value: group } = await store.object('device_group', name);
    if (group === null) continue;
    served.set(`device_group/${name}`, { id: group.deviceGroupId, content: JSON.stringify(group.content) });
    served.set(`prune/${name}`, { id: group.pruneId, content: '' });
  }
  return served;
}

/** A counter, and the number of the action that changed it last. */
interface ModelCounter {
  last: number;
  hash: string | null;
  changed: number;
}

/** The rules of ids, implemented as simply as possible. */
class Model {
  readonly #counters = new Map<string, ModelCounter>();
  readonly served: Served = new Map();
  /** The number of actions so far. */
  actions = 0;

  /** The counters that changed after the first `after` actions. */
  counters(after: number): CounterMap {
    const changed = [...this.#counters].filter(([, counter]) => counter.changed > after);
    return new Map(changed.map(([key, { last, hash }]) => [key, { last, hash }]));
  }

  perform(action: Action): void {
    this.actions += 1;
    if (action.do === 'seed') for (const counter of this.#counters.values()) counter.changed = this.actions;
    if (action.do === 'apply') for (const one of action.changes) this.#apply(one);
    if (action.do === 'restart') this.#raise(`app/${action.name}`);
    if (action.do === 'prune') this.#raise(`prune/${action.name}`);
    if (action.do === 'prune-all') for (const one of NAMES) this.#raise(`prune/${one}`);
  }

  #apply(change: Change): void {
    const key = `${change.kind}/${change.name}`;
    const step = stepOf(change);
    const before = this.served.get(key);
    const content = JSON.stringify(step.after);
    if (step.after === null) {
      const { last } = this.#counters.get(key) ?? { last: 0 };
      if (this.served.delete(key)) this.#counters.set(key, { last, hash: null, changed: this.actions });
      if (change.kind === 'device_group') this.served.delete(`prune/${change.name}`);
    } else if (before?.content !== content) {
      this.#assign(key, content, contentHash(change.kind, step.after));
      if (before === undefined && change.kind === 'device_group')
        this.#assign(`prune/${change.name}`, '', null);
    }
  }

  #raise(key: string): void {
    const served = this.served.get(key);
    if (served !== undefined) this.#assign(key, served.content, this.#counters.get(key)?.hash ?? null);
  }

  #assign(key: string, content: string, hash: string | null): void {
    const id = (this.#counters.get(key)?.last ?? 0) + 1;
    this.#counters.set(key, { last: id, hash, changed: this.actions });
    this.served.set(key, { id, content });
  }
}

type CounterMap = Map<string, Pick<CounterRow, 'last' | 'hash'>>;

/** The counters that changed after an id sequence; checks that each is listed once. */
async function countersOf(store: FlatStore, since: number): Promise<CounterMap> {
  const rows = await store.counters(since);
  const counters = new Map(rows.map(({ kind, name, last, hash }) => [`${kind}/${name}`, { last, hash }]));
  expect(counters.size).toBe(rows.length);
  return counters;
}

/** Checks that no id was served with two contents. `contents` has the content of each id that was served so far. */
function expectUsedOnce(served: Served, contents: Map<string, string>): void {
  for (const [key, { id, content }] of served) {
    const used = contents.get(`${key} ${id}`) ?? content;
    expect(content).toBe(used);
    contents.set(`${key} ${id}`, content);
  }
}

async function expectAsModel(opened: OpenedStore, actions: readonly Action[]): Promise<void> {
  const model = new Model();
  const contents = new Map<string, string>();
  /** The id sequence after each number of actions. */
  const sequences = [0];
  let { store } = opened;
  for (const [index, action] of actions.entries()) {
    store = await perform(opened, store, action);
    model.perform(action);
    const served = await servedBy(store);
    expect(served).toEqual(model.served);
    expectUsedOnce(served, contents);
    expect(await countersOf(store, sequences[index] ?? 0)).toEqual(model.counters(index));
    sequences.push((await store.state()).idSequence);
  }
  for (const [index, sequence] of sequences.entries())
    expect(await countersOf(store, sequence)).toEqual(model.counters(index));
}

export function idsModel(withStore: (body: (opened: OpenedStore) => Promise<void>) => Promise<void>): void {
  describe('ids, after any sequence of actions', { retry: 0 }, () => {
    it('rise by one per change, never fall, and never stand for two contents; every change is listed', async () => {
      const histories = fc.array(anyAction, { minLength: 5, maxLength: 25 });
      const property = fc.asyncProperty(histories, (actions) =>
        withStore((opened) => expectAsModel(opened, actions)),
      );
      await fc.assert(property, { numRuns: 40 });
    });
  });
}
