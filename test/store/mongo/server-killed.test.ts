import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { MortalServer } from '../../../scripts/local-server.ts';
import { startStandIn } from '../../../scripts/stand-in.ts';
import type { Store } from '../../../src/store/store.ts';
import { app, appId, appStep, CONTEXT, pass, rejection } from '../contract/support.ts';
import { newDatabase, openDatabase, SERVER } from './test-database.ts';

/** Only FerretDB can be killed and started again here, and it keeps its data. */
const canKill = !SERVER.isMissing && process.env['HOLDFAST_TEST_STAND_IN'] === 'ferretdb';

let server: MortalServer | null = null;
let store: Store;

describe.skipIf(!canKill)('a store whose server is killed again and again', SERVER.limits, () => {
  beforeAll(async () => {
    server = await startStandIn();
    store = await openDatabase(newDatabase(), server?.uri);
  });
  afterAll(async () => {
    await store.close();
    await server?.stop();
  });

  it('loses no acknowledged restart, and counts none twice', async () => {
    await pass(store, [appStep('web', app('nginx'))]);
    let acknowledged = 0;
    let unknown = 0;
    for (let round = 0; round < 4; round += 1) {
      const calls = Array.from({ length: 12 }, () => rejection(store.restartApp('web', CONTEXT)));
      await calls[round * 3];
      await server?.kill();
      const outcomes = await Promise.all(calls);
      acknowledged += outcomes.filter((outcome) => outcome === 'none').length;
      unknown += outcomes.filter((outcome) => outcome === 'unavailable').length;
      await server?.revive();
      await vi.waitFor(() => store.ping(), { timeout: 60_000, interval: 100 });
    }
    expect(acknowledged).toBeGreaterThan(0);
    expect(unknown).toBeGreaterThan(0);
    expect(acknowledged + unknown).toBe(48);
    const raised = ((await appId(store, 'web')) ?? 0) - 1;
    expect(raised).toBeGreaterThanOrEqual(acknowledged);
    expect(raised).toBeLessThanOrEqual(acknowledged + unknown);
    expect(await store.operations(null, 100)).toHaveLength(raised);
  });
});
