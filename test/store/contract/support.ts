import { afterEach, beforeEach } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import type { CounterKind, CounterRow, HistoryPoint, SeedBatch } from '../../../src/ids/id-store.ts';
import type { FileOrigin, Step } from '../../../src/plan/step.ts';
import { type App, appDefaults } from '../../../src/protocol/app.ts';
import type { Device } from '../../../src/protocol/device-fields.ts';
import type { DeviceGroup } from '../../../src/protocol/device-group.ts';
import { OPERATIONS } from '../../../src/protocol/history.ts';
import { type Kind, parseKey } from '../../../src/protocol/name.ts';
import type { Act } from '../../../src/store/act.ts';
import type { HistoryStore } from '../../../src/store/history/port.ts';
import type { AssignedId, OperationContext, Store } from '../../../src/store/objects/port.ts';
import type { Operation } from '../../../src/store/operation.ts';
import type { FlatStore } from '../../support/flat-store.ts';

/** How a store is opened; without a limit by default. */
export interface StoreOptions {
  maxReportBytes?: number;
}

/** A new, empty store, and what a test can do with its file or database. */
export interface OpenedStore<S = FlatStore> {
  store: S;
  /** Closes the store and opens it again, as a restart of the manager does; with the same options by default. */
  reopen(options?: StoreOptions): Promise<S>;
  /** Closes the store and deletes its file or database. */
  cleanup(): Promise<void>;
}

export type OpenStore<S = FlatStore> = (options?: StoreOptions) => Promise<OpenedStore<S>>;

/** The store of the test that runs now. */
export interface StoreOfTest<S = FlatStore> {
  readonly store: S;
  reopen(options?: StoreOptions): Promise<S>;
}

/** A new store for each test of the suite in which this is called. */
export function useStore<S>(open: OpenStore<S>, options: StoreOptions = {}): StoreOfTest<S> {
  let opened: OpenedStore<S>;
  let current: S;
  beforeEach(async () => {
    opened = await open(options);
    current = opened.store;
  });
  afterEach(() => opened.cleanup());
  return {
    get store() {
      return current;
    },
    async reopen(changed) {
      current = await opened.reopen(changed);
      return current;
    },
  };
}

/** Runs a test's body on a store of its own. */
export async function withStore(
  open: OpenStore,
  body: (opened: OpenedStore) => Promise<void>,
): Promise<void> {
  const opened = await open();
  try {
    await body(opened);
  } finally {
    await opened.cleanup();
  }
}

export const AT = 1_700_000_000_000;
export const SEEDED_FROM: HistoryPoint = { line: 'fleet', source: 'aa', revision: null };
export const CONTEXT: OperationContext = { actor: 'ann', requestId: 'req-1', at: AT };
const ORIGIN: FileOrigin = { path: 'desired-state/some.yaml', blob: 'b10b' };

export function app(image: string, fields: Partial<App> = {}): App {
  return { container_image: image, ...appDefaults(['nebula', 'bridge']), ...fields };
}

export function group(...apps: string[]): DeviceGroup {
  return { apps };
}

/** A create or update; null deletes. */
export function appStep(name: string, after: App | null, origin: FileOrigin | null = ORIGIN): Step {
  return { kind: 'app', name, before: null, after, origin: after === null ? null : origin };
}

export function deviceStep(name: string, after: Device | null): Step {
  return { kind: 'device', name, before: null, after, origin: after === null ? null : ORIGIN };
}

export function groupStep(name: string, after: DeviceGroup | null, origin: FileOrigin | null = ORIGIN): Step {
  return { kind: 'device_group', name, before: null, after, origin: after === null ? null : origin };
}

/** Claims the head and applies the steps, as a pass does. */
export async function pass(store: Store, steps: readonly Step[], revision = 'rev'): Promise<AssignedId[]> {
  const { sequence } = await store.state();
  const claimed = await store.claimHead(sequence, revision, AT);
  return store.apply({ revision, sequence: claimed, at: AT, steps, origins: [], rules: 'r1' });
}

/** Seeds the store from `SEEDED_FROM`. */
export function seed(store: Store, batch: Omit<SeedBatch, 'from'>): Promise<void> {
  return store.seedCounters({ from: SEEDED_FROM, ...batch });
}

/** The app's id; null if there is no such app. */
export async function appId(store: Store, name: string): Promise<number | null> {
  return (await store.object('app', name)).value?.appId ?? null;
}

/** `[device_group_id, prune_id]`; null if there is no such group. */
export async function groupIds(store: Store, name: string): Promise<[number, number] | null> {
  const { value } = await store.object('device_group', name);
  return value === null ? null : [value.deviceGroupId, value.pruneId];
}

/** One counter; null if there is none. */
export async function counterOf(store: Store, kind: CounterKind, name: string): Promise<CounterRow | null> {
  const rows = await store.counters(0);
  return rows.find((row) => row.kind === kind && row.name === name) ?? null;
}

/** The acts that are not indexed, oldest first. */
export async function acts(store: Pick<HistoryStore, 'nextAct'>): Promise<Act[]> {
  const found: Act[] = [];
  for (let act = await store.nextAct(0); act !== null; act = await store.nextAct(act.number)) found.push(act);
  return found;
}

/** The operations of a store, newest first: those that are not indexed, and those that are. */
export async function operationsOf(store: HistoryStore): Promise<Operation[]> {
  const query = { keys: [], kinds: OPERATIONS, since: null, until: null, text: null };
  const { entries } = await store.entries(query, null, 10_000);
  const indexed = entries.map(({ at, kind, actor, requestId, reason, changes }) => {
    const ids = changes.map(({ object, ids }) => [parseKey(object).name, Object.values(ids ?? {})[0] ?? 0]);
    const name = kind === 'prune-all' ? null : parseKey(changes[0]?.object ?? '').name;
    const action = kind as Operation['action'];
    const said = { at, action, name, actor: actor.name, requestId: requestId ?? '', reason };
    return { ...said, ids: Object.fromEntries(ids) };
  });
  return [...(await operationActs(store)), ...indexed];
}

async function operationActs(store: HistoryStore): Promise<Operation[]> {
  return (await acts(store)).reverse().flatMap(({ at, operation, changes }) => {
    const ids = changes.map(({ name, id }) => [name, id ?? 0] as const);
    return operation === null ? [] : [{ at, ...operation, ids: Object.fromEntries(ids) }];
  });
}

/** The state, objects, counters and operations of a store, for a check that nothing has changed. */
export async function everything(store: Store & HistoryStore): Promise<unknown> {
  const objects = await store.appliedObjects();
  const key = ({ kind, name }: { kind: Kind | CounterKind; name: string }) => `${kind}/${name}`;
  const byKey = (a: { kind: CounterKind; name: string }, b: { kind: CounterKind; name: string }) =>
    key(a) < key(b) ? -1 : 1;
  const apps = (await store.names('app')).value;
  const groups = (await store.names('device_group')).value;
  // A copy or a reopened store has another mark for the same state.
  const { mark: _, ...state } = await store.state();
  return {
    state,
    objects: objects.sort(byKey),
    apps: await Promise.all(apps.map((name) => store.object('app', name))),
    groups: await Promise.all(groups.map((name) => store.object('device_group', name))),
    infos: await Promise.all(groups.map((name) => store.groupInfo(name).catch(kindOf))),
    counters: (await store.counters(0)).sort(byKey),
    operations: await operationsOf(store),
  };
}

/** The kind of the error with which a call rejects; `none` if it resolves. */
export async function rejection(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'none',
    (error: unknown) => kindOf(error),
  );
}
