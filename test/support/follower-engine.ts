import { expect, onTestFinished } from 'vitest';
import type { Reconciler, ReconcilerDependencies } from '../../src/reconcile/reconciler.ts';
import { openRemote } from '../../src/source/git/origin/remote.ts';
import type { Store } from '../../src/store/store.ts';
import { testReconciler } from './engine.ts';
import { temporaryFolder } from './folder.ts';
import { remoteOptions, type TestOrigin } from './origin.ts';

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
  const source = await openRemote(remoteOptions(origin.url, await temporaryFolder()));
  const reconciler = testReconciler({ source, store, random: () => 0.99, ...settings });
  onTestFinished(async () => {
    await reconciler.close();
    await source.close();
    await store.close();
  });
  expect(await reconciler.start()).toMatchObject({ ok: true });
  return { reconciler, store };
}
