import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { FlatStore } from '../../support/flat-store.ts';
import { MongoProxy, type Verdict } from '../../support/mongo-proxy.ts';
import {
  AT,
  app,
  appId,
  appStep,
  CONTEXT,
  everything,
  group,
  groupStep,
  operationsOf,
  pass,
  rejection,
} from '../contract/support.ts';
import { type OpenedDatabase, openDatabase, openInNewDatabase, SERVER } from './test-database.ts';

/** What the proxy does to one command. */
const DISTURBANCES: [name: string, verdict: Verdict][] = [
  ['that break before the server gets a command', 'cut-before'],
  ['that break before the reply', 'cut-after'],
  ['to a server that is no longer primary', 'not-primary'],
  ['to a server that steps down during a command', 'stepped-down'],
  ['that are slow', 'delay'],
];

let direct: OpenedDatabase;
let proxy: MongoProxy;
/** A second store on the same database, whose connections go through the proxy. */
let store: FlatStore;

describe.skipIf(SERVER.isMissing)('connections between the driver and the server', SERVER.limits, () => {
  beforeEach(async () => {
    direct = await openInNewDatabase();
    await pass(direct.store, [appStep('web', app('v1')), groupStep('edge', group('web'))], 'r1');
    proxy = await MongoProxy.start(SERVER.uri);
    store = await openDatabase(direct.database, proxy.uri);
  });
  afterEach(async () => {
    await store.close();
    await proxy.stop();
    await direct.cleanup();
  });

  describe.each(DISTURBANCES)('%s', (_, verdict) => {
    it.each([1, 2, 3])(
      'at find or update %i of a restart: the restart counts once, or at most once if it is reported as unavailable',
      async (number) => {
        for (const command of ['update', 'find']) {
          const before = (await appId(direct.store, 'web')) ?? 0;
          proxy.judge((name, count) => (name === command && count === number ? verdict : 'pass'));
          const outcome = await rejection(store.restartApp('web', CONTEXT));
          proxy.judge(() => 'pass');
          await reachServer();
          const after = (await appId(direct.store, 'web')) ?? 0;
          expect(['none', 'unavailable']).toContain(outcome);
          expect(after - before).toBeGreaterThanOrEqual(outcome === 'none' ? 1 : 0);
          expect(after - before).toBeLessThanOrEqual(1);
          const entries = await operationsOf(direct.store);
          expect(entries).toHaveLength(after - 1);
        }
      },
    );

    it('at the first update of a pass: the pass is applied completely and once, by the first call or a second one', async () => {
      const sequence = await store.claimHead(1, 'r2', AT);
      const steps = [
        appStep('web', app('v2')),
        appStep('db', app('pg')),
        groupStep('edge', group('web', 'db')),
      ];
      const batch = { revision: 'r2', sequence, at: AT, steps, origins: [], rules: 'r1' };
      proxy.judge((name, count) => (name === 'update' && count === 1 ? verdict : 'pass'));
      const outcome = await rejection(store.apply(batch));
      proxy.judge(() => 'pass');
      await reachServer();
      if (outcome !== 'none') await store.apply(batch);
      const info = await direct.store.groupInfo('edge');
      expect(info).toMatchObject({ revision: 'r2', group: { deviceGroupId: 2 } });
      expect(info?.apps.map(({ appId: id }) => id)).toEqual([2, 1]);
      const after = await everything(direct.store);
      await store.apply(batch);
      expect(await everything(direct.store)).toEqual(after);
    });

    it('at the insertion of a list of reports: the list is stored completely and once, or not at all', async () => {
      const report = (time: number) => ({ hostname: 'h', device_group: 'g', report_creation_time: time });
      proxy.judge((name, count) => (name === 'insert' && count === 1 ? verdict : 'pass'));
      const outcome = await rejection(store.insertReports([report(1), report(2)], AT));
      proxy.judge(() => 'pass');
      await reachServer();
      const value = await direct.store.reports({ pageSize: 10 });
      expect(outcome === 'none' ? [2] : [0, 2]).toContain(value.data.length);
    });
  });

  it('are opened again after all have broken', async () => {
    proxy.closeAll();
    await reachServer();
    expect(await appId(store, 'web')).toBe(1);
  });

  it('make every call reject as unavailable while the server is away, and work again once it is back', async () => {
    proxy.goAway();
    expect(await rejection(store.state())).toBe('unavailable');
    expect(await rejection(store.restartApp('web', CONTEXT))).toBe('unavailable');
    proxy.comeBack();
    await reachServer();
    expect((await store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
  });

  it('name neither the user nor the password in their errors', async () => {
    const secret = proxy.uri.replace('mongodb://', 'mongodb://annabel:hunter2@');
    const error = await openDatabase(direct.database, secret).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ kind: 'unavailable' });
    const { message, cause, stack, details } = error as { [part: string]: unknown };
    expect(`${message} ${String(cause)} ${stack} ${JSON.stringify(details)}`).not.toMatch(/annabel|hunter2/);
  });
});

/** Waits until calls through the proxy succeed. */
async function reachServer(): Promise<void> {
  await vi.waitFor(() => store.ping(), { timeout: 60_000, interval: 100 });
}
