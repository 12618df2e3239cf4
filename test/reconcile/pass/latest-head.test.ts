import { randomBytes } from 'node:crypto';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../../src/store/sqlite/open.ts';
import { DEFAULTS } from '../../support/fleet.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { type FollowerEngine, startFollowerEngine } from '../../support/follower-engine.ts';
import { SMALL_FLEET } from '../../support/manager.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';

const WEB = 'desired-state/apps/web.yaml';
/** One of many managers; all of them share the store at `path`. */
async function startOne(origin: TestOrigin, path: string): Promise<FollowerEngine> {
  const store = await openSqliteStore({ path, defaults: DEFAULTS, random: randomBytes });
  return startFollowerEngine(origin, store);
}

async function startTwo() {
  const origin = await testOrigin(SMALL_FLEET);
  const path = join(await temporaryFolder(), 'store.sqlite');
  const ahead = await startOne(origin, path);
  const behind = await startOne(origin, path);
  return { origin, ahead, behind };
}

/** What devices are told, and which revision it is from. */
async function served({ store }: FollowerEngine) {
  const { value } = await store.app('web');
  const { applied } = await store.state();
  return { id: value?.appId, image: value?.content.container_image, revision: applied?.revision };
}

describe('a manager whose mirror is behind what another one has applied', () => {
  it('asks origin before it claims, and brings no older revision back', async () => {
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

  it('applies nothing while origin is away, and follows when it is back', async () => {
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

  it('does not go on claiming in turns: each pass of both ends where origin is', async () => {
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
