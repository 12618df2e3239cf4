import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
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
  pass,
  rejection,
} from '../contract/support.ts';
import { type MongoPlace, openDatabase, openInNewDatabase, SERVER } from './place.ts';

const BROKEN: Verdict[] = ['cut-before', 'cut-after', 'not-primary', 'stepped-down', 'delay'];

let place: MongoPlace;
let proxy: MongoProxy;
let store: Store;

describe.skipIf(SERVER.isMissing)('between driver and server', SERVER.limits, () => {
  beforeEach(async () => {
    place = await openInNewDatabase();
    await pass(place.store, [appStep('web', app('v1')), groupStep('edge', group('web'))], 'r1');
    proxy = await MongoProxy.start(SERVER.uri);
    store = await openDatabase(place.database, proxy.uri);
  });
  afterEach(async () => {
    await store.close();
    await proxy.stop();
    await place.cleanup();
  });

  describe.each(BROKEN)('%s', (verdict) => {
    it.each([1, 2, 3])(
      'of command %i of its kind: a restart counts once, or not and says so',
      async (place_) => {
        for (const command of ['update', 'find']) {
          const before = (await appId(place.store, 'web')) ?? 0;
          proxy.judge((name, count) => (name === command && count === place_ ? verdict : 'pass'));
          const outcome = await rejection(store.restartApp('web', CONTEXT));
          proxy.judge(() => 'pass');
          await healed();
          const after = (await appId(place.store, 'web')) ?? 0;
          expect(['none', 'unavailable']).toContain(outcome);
          expect(after - before).toBeGreaterThanOrEqual(outcome === 'none' ? 1 : 0);
          expect(after - before).toBeLessThanOrEqual(1);
          const entries = await place.store.operations(null, 100);
          expect(entries).toHaveLength(after - 1);
        }
      },
    );

    it('of the first write: a pass that was acknowledged is there, whole and once', async () => {
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
      await healed();
      if (outcome !== 'none') await store.apply(batch);
      const info = await place.store.groupInfo('edge');
      expect(info).toMatchObject({ revision: 'r2', group: { deviceGroupId: 2 } });
      expect(info?.apps.map(({ appId: id }) => id)).toEqual([2, 1]);
      const after = await everything(place.store);
      await store.apply(batch);
      expect(await everything(place.store)).toEqual(after);
    });

    it('of the first write: a list of reports is there whole and once, or not at all', async () => {
      const report = (time: number) => ({ hostname: 'h', device_group: 'g', report_creation_time: time });
      proxy.judge((name, count) => (name === 'update' && count === 1 ? verdict : 'pass'));
      const outcome = await rejection(store.insertReports([report(1), report(2)], AT));
      proxy.judge(() => 'pass');
      await healed();
      const { value } = await place.store.reports({ pageSize: 10 });
      expect(outcome === 'none' ? [2] : [0, 2]).toContain(value.data.length);
    });
  });

  it('all connections break: calls heal by themselves', async () => {
    proxy.closeAll();
    await healed();
    expect(await appId(store, 'web')).toBe(1);
  });

  it('the server is away: every call rejects as unavailable, and works again when it is back', async () => {
    proxy.goAway();
    expect(await rejection(store.state())).toBe('unavailable');
    expect(await rejection(store.restartApp('web', CONTEXT))).toBe('unavailable');
    proxy.comeBack();
    await healed();
    expect((await store.restartApp('web', CONTEXT))?.value.appId).toBe(2);
  });

  it('errors name neither the user nor the password', async () => {
    const secret = proxy.uri.replace('mongodb://', 'mongodb://ann:hunter2@');
    const error = await openDatabase(place.database, secret).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ kind: 'unavailable' });
    const { message, cause, stack, details } = error as { [part: string]: unknown };
    expect(`${message} ${String(cause)} ${stack} ${JSON.stringify(details)}`).not.toMatch(/hunter2/);
  });
});

/** Waits until calls through the proxy work. */
async function healed(): Promise<void> {
  await vi.waitFor(() => store.ping(), { timeout: 60_000, interval: 100 });
}
