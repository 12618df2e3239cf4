import { expect, onTestFinished } from 'vitest';
import type { Reconciler, ReconcilerDependencies } from '../../src/reconcile/reconciler.ts';
import { openRemote } from '../../src/source/git/mirror/remote.ts';
import type { SharedStore, Store } from '../../src/store/objects/port.ts';
import type { Ports } from '../../src/store/open/ports.ts';
import { testReconciler } from './engine.ts';
import { temporaryFolder } from './folder.ts';
import { remoteOptions, type TestOrigin } from './origin.ts';

/** One of several managers that follow an origin and share a store, without a server. */
export interface FollowerEngine {
  reconciler: Reconciler;
  store: Store;
}

/**
 * Starts such a manager, with its own mirror of `origin`, and waits until its start has succeeded. It does not poll. It
 * is closed when the test is over, and so is `store`.
 */
export async function startFollowerEngine(
  origin: TestOrigin,
  store: Store & SharedStore & Pick<Ports, 'close'>,
  settings: Partial<ReconcilerDependencies> = {},
): Promise<FollowerEngine> {
  const source = await openRemote(remoteOptions(origin.url, await temporaryFolder()));
  const reconciler = testReconciler({ source, store, shared: store, random: () => 0.99, ...settings });
  onTestFinished(async () => {
    await reconciler.close();
    await source.close();
    await store.close();
  });
  expect(await reconciler.start()).toMatchObject({ ok: true });
  return { reconciler, store };
}
