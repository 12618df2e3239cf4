import { rename } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { calmStore, ModelDatabase } from '../../store/mongo/model.ts';
import { type FollowerEngine, startFollowerEngine } from '../../support/follower-engine.ts';
import { SMALL_FLEET } from '../../support/manager.ts';
import { testOrigin } from '../../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
/** Two managers on one store; only `ahead` fetches a commit before `behind` is asked for a pass. */
async function startTwo() {
  const origin = await testOrigin(SMALL_FLEET);
  const database = new ModelDatabase();
  const ahead = await startFollowerEngine(origin, calmStore(database));
  const behind = await startFollowerEngine(origin, calmStore(database));
  return { origin, ahead, behind };
}

/** What devices are served of the app, and the applied revision. */
async function served({ store }: FollowerEngine) {
  const { value } = await store.object('app', 'web');
  const { applied } = await store.state();
  return { id: value?.appId, image: value?.content.container_image, revision: applied?.revision };
}

describe('a manager whose mirror is older than the applied revision', () => {
  it('fetches from origin before it claims, and does not bring the older revision back', async () => {
    const { origin, ahead, behind } = await startTwo();
    const before = await served(ahead);
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await ahead.reconciler.pollOrigin();
    const after = await served(ahead);
    expect(after).toEqual({ id: (before.id ?? 0) + 1, image: 'web:2', revision });
    expect(await behind.reconciler.reconcile()).toMatchObject({
      ok: true,
      report: { head: { revision }, steps: [] },
    });
    expect(await served(ahead)).toEqual(after);
  });

  it('applies nothing while origin is unreachable, and catches up afterwards', async () => {
    const { origin, ahead, behind } = await startTwo();
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await ahead.reconciler.pollOrigin();
    const after = await served(ahead);
    await rename(origin.url, `${origin.url}.away`);
    expect(await behind.reconciler.reconcile()).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
    expect(await behind.reconciler.pollOrigin()).toMatchObject({ ok: false, error: { kind: 'unavailable' } });
    expect(await served(ahead)).toEqual(after);
    await rename(`${origin.url}.away`, origin.url);
    expect(await behind.reconciler.pollOrigin()).toMatchObject({ ok: true, report: { head: { revision } } });
    expect(await served(ahead)).toEqual(after);
  });

  it('ends at the head of origin in every pass, even if both managers run passes at once', async () => {
    const { origin, ahead, behind } = await startTwo();
    for (let round = 2; round <= 6; round++) {
      const revision = await origin.push({ [WEB]: `container_image: web:${round}\n` });
      const id = (await served(ahead)).id ?? 0;
      await Promise.all([
        ahead.reconciler.pollOrigin(),
        behind.reconciler.reconcile(),
        behind.reconciler.pollOrigin(),
      ]);
      expect(await served(behind)).toEqual({ id: id + 1, image: `web:${round}`, revision });
    }
  });
});
