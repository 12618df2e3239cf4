import { expect, onTestFinished } from 'vitest';
import { NO_FAULTS } from '../../src/faults.ts';
import {
  createReconciler,
  type Reconciler,
  type ReconcilerDependencies,
} from '../../src/reconcile/reconciler.ts';
import { openRemote } from '../../src/source/git/origin/remote.ts';
import type { Store } from '../../src/store/store.ts';
import { DEFAULTS } from './fleet.ts';
import { temporaryFolder } from './folder.ts';
import type { TestOrigin } from './origin.ts';

const LIMIT = { total: 20_000, silence: 20_000 };

/** One of many managers, without a server. */
export interface FollowerEngine {
  reconciler: Reconciler;
  store: Store;
}

/** Starts one with its own mirror on a store that others share. It looks only when it is told to. */
export async function startFollowerEngine(
  origin: TestOrigin,
  store: Store,
  settings: Partial<ReconcilerDependencies> = {},
): Promise<FollowerEngine> {
  const source = await openRemote({
    dataFolder: await temporaryFolder(),
    branch: 'main',
    prefix: 'desired-state',
    access: { url: origin.url, username: null, token: null, sshKey: null, knownHosts: null, caFile: null },
    machine: { env: { PATH: process.env['PATH'] }, timeLimit: 30_000 },
    limits: { first: LIMIT, patient: LIMIT, usual: LIMIT },
    onTransfer: () => undefined,
    faults: NO_FAULTS,
  });
  const reconciler = createReconciler({
    source,
    store,
    defaults: DEFAULTS,
    strict: false,
    pollInterval: 0,
    lease: null,
    now: Date.now,
    random: () => 0.99,
    faults: NO_FAULTS,
    onProgress: () => undefined,
    onApplied: () => undefined,
    onSeeded: () => undefined,
    onPass: async () => undefined,
    ...settings,
  });
  onTestFinished(async () => {
    await reconciler.close();
    await source.close();
    await store.close();
  });
  expect(await reconciler.start()).toMatchObject({ ok: true });
  return { reconciler, store };
}
