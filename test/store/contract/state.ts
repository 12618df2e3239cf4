import { describe, expect, it } from 'vitest';
import type { StoreState } from '../../../src/store/objects/port.ts';
import type { FlatStore } from '../../support/flat-store.ts';
import {
  AT,
  app,
  appStep,
  CONTEXT,
  everything,
  type OpenStore,
  pass,
  rejection,
  seed,
  useStore,
} from './support.ts';

const EVERY_ENTRY = { keys: [], kinds: null, since: null, until: null, text: null };
const HISTORY = {
  act: 0,
  revision: null,
  branch: null,
  newest: 0,
  oldest: 1,
  fill: null,
  isCut: false,
  until: null,
};

const EMPTY: Omit<StoreState, 'fleet' | 'mark'> = {
  sequence: 0,
  attempted: null,
  applied: null,
  rules: null,
  seededFrom: null,
  idSequence: 0,
};

export function stateContract(open: OpenStore): void {
  const test = useStore(open);

  describe('state', () => {
    it('is empty in a new store, except for the fleet id', async () => {
      const { fleet, mark: _, ...rest } = await test.store.state();
      expect(rest).toEqual(EMPTY);
      expect(fleet).toMatch(/^[0-9a-f]{32}$/);
    });

    it('has a fleet id that differs from that of other stores, and keeps it over a restart', async () => {
      const { fleet } = await test.store.state();
      const other = await open();
      expect((await other.store.state()).fleet).not.toBe(fleet);
      await other.cleanup();
      expect((await (await test.reopen()).state()).fleet).toBe(fleet);
    });

    it('records a revision that was attempted but not applied', async () => {
      await test.store.markAttempted('r1', AT);
      await test.store.markAttempted('r2', AT + 5);
      const state = await test.store.state();
      expect(state.attempted).toEqual({ revision: 'r2', at: AT + 5 });
      expect(state.applied).toBeNull();
    });

    it('is the same after a restart, as are objects, counters and operations', async () => {
      await test.store.markAttempted('r1', AT);
      await pass(test.store, [appStep('web', app('nginx'))], 'r1');
      await test.store.restartApp('web', CONTEXT);
      await seed(test.store, { seeds: [], idSequence: 40 });
      const before = await everything(test.store);
      expect(await everything(await test.reopen())).toEqual(before);
    });
  });

  describe('claimHead', () => {
    it('returns the next sequence number', async () => {
      expect(await test.store.claimHead(0, 'r1', AT)).toBe(1);
      expect(await test.store.claimHead(1, 'r2', AT)).toBe(2);
      expect((await test.store.state()).sequence).toBe(2);
    });

    it('records the revision as attempted, unless it rejects', async () => {
      await test.store.claimHead(0, 'r1', AT);
      expect((await test.store.state()).attempted).toEqual({ revision: 'r1', at: AT });
      expect(await rejection(test.store.claimHead(0, 'r2', AT + 1))).toBe('conflict');
      expect((await test.store.state()).attempted).toEqual({ revision: 'r1', at: AT });
    });

    it('rejects as conflict, and claims nothing, if the store has another sequence number', async () => {
      await test.store.claimHead(0, 'r1', AT);
      expect(await rejection(test.store.claimHead(0, 'r2', AT))).toBe('conflict');
      expect(await rejection(test.store.claimHead(2, 'r2', AT))).toBe('conflict');
      expect((await test.store.state()).sequence).toBe(1);
    });

    it('succeeds for exactly one of many concurrent claims', async () => {
      const calls = Array.from({ length: 20 }, (_, index) =>
        rejection(test.store.claimHead(0, `r${index}`, AT)),
      );
      const outcomes = await Promise.all(calls);
      expect(outcomes.filter((outcome) => outcome === 'none')).toHaveLength(1);
      expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(19);
    });
  });

  describe('ping', () => {
    it('resolves while the store is open', async () => {
      await expect(test.store.ping()).resolves.toBeUndefined();
    });
  });

  it('records the rules of the last applied batch', async () => {
    expect((await test.store.state()).rules).toBeNull();
    const sequence = await test.store.claimHead(0, 'r1', AT);
    await test.store.apply({ revision: 'r1', sequence, at: AT, steps: [], origins: [], rules: 'second' });
    expect((await (await test.reopen()).state()).rules).toBe('second');
  });

  describe('close', () => {
    const batch = { revision: 'r', sequence: 0, at: AT, steps: [], origins: [], rules: 'r1' };
    const CALLS: Record<Exclude<keyof FlatStore, 'close'>, (store: FlatStore) => Promise<unknown>> = {
      ping: (store) => store.ping(),
      state: (store) => store.state(),
      markAttempted: (store) => store.markAttempted('r', AT),
      claimHead: (store) => store.claimHead(0, 'r', AT),
      apply: (store) => store.apply(batch),
      appliedObjects: (store) => store.appliedObjects(),
      names: (store) => store.names('app'),
      object: (store) => store.object('app', 'web'),
      groupInfo: (store) => store.groupInfo('edge'),
      deviceInfo: (store) => store.deviceInfo('pos-1'),
      restartApp: (store) => store.restartApp('web', CONTEXT),
      pruneGroup: (store) => store.pruneGroup('edge', CONTEXT),
      pruneAll: (store) => store.pruneAll(CONTEXT),
      logOperation: (store) => store.logOperation({ ...CONTEXT, action: 'restart', name: 'web', ids: {} }),
      nextAct: (store) => store.nextAct(0),
      historyState: (store) => store.historyState(),
      requireRoom: (store) => store.requireRoom('new'),
      addEntries: (store) =>
        store.addEntries({ expected: null, next: HISTORY, entries: [], supersedes: false }),
      entries: (store) => store.entries(EVERY_ENTRY, null, 1),
      entry: (store) => store.entry(1),
      firstSince: (store) => store.firstSince(0, ['app/web']),
      revisionBefore: (store) => store.revisionBefore(1),
      revisionOf: (store) => store.revisionOf('ab'),
      seedCounters: (store) => seed(store, { seeds: [], idSequence: 0 }),
      counters: (store) => store.counters(0),
      insertReports: (store) => store.insertReports([], AT),
      reports: (store) => store.reports({ pageSize: 1 }),
      loadIncidents: (store) => store.loadIncidents(),
      putIncidents: (store) => store.putIncidents([]),
      leads: (store) => store.leads(AT),
      served: (store) => store.served(),
      load: (store) => store.load(() => undefined),
      put: (store) => store.put([], AT),
      drop: (store) => store.drop(['pos-1']),
      forget: (store) => store.forget('pos-1', 1),
      latestReport: (store) => store.latestReport('pos-1'),
      expireReports: (store) => store.expireReports(AT),
    };

    it.each(Object.entries(CALLS))('makes %s reject as unavailable', async (_name, call) => {
      await test.store.close();
      expect(await rejection(call(test.store))).toBe('unavailable');
    });

    it('may be called twice', async () => {
      await Promise.all([test.store.close(), test.store.close()]);
      await expect(test.store.close()).resolves.toBeUndefined();
    });

    it('waits for calls that are under way', async () => {
      const applying = pass(
        test.store,
        Array.from({ length: 300 }, (_, index) => appStep(`app-${index}`, app('nginx'))),
      ).catch(() => undefined);
      await test.store.state();
      const claimed = rejection(test.store.claimHead(1, 'later', AT));
      const report = { hostname: 'h', device_group: 'g', report_creation_time: 1 };
      const reported = rejection(test.store.insertReports([report], AT));
      await test.store.close();
      expect(await claimed).not.toBe('unavailable');
      expect(await reported).toBe('none');
      await applying;
      const store = await test.reopen();
      expect([0, 300]).toContain((await store.names('app')).value.length);
    });
  });
}
