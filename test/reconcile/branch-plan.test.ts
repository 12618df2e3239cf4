import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type BranchPlan, createBranchPlans } from '../../src/reconcile/branch-plan.ts';
import type { Merged, Reader, Source } from '../../src/source/source.ts';
import { buildEngine, wrap } from '../support/engine.ts';
import { DEFAULTS } from '../support/fleet.ts';

it('plans of branches are made one at a time, and once for a revision until something else is applied', async () => {
  const { repository, commit, source, reconciler } = await buildEngine({
    files: { 'apps/web.yaml': 'container_image: web:1\n' },
  });
  await reconciler.reconcile();
  await repository.git('switch', '--quiet', '--create', 'topic');
  await commit({ 'apps/web.yaml': 'container_image: web:2\n' });
  await repository.git('branch', 'same');
  await repository.git('switch', '--quiet', '--create', 'other', 'main');
  await commit({ 'apps/web.yaml': 'container_image: web:3\n' });
  await repository.git('switch', '--quiet', 'main');
  const seen = { made: 0, running: 0, most: 0 };
  const commonAncestor: Reader['commonAncestor'] = async (...ids) => {
    seen.made += 1;
    seen.running += 1;
    seen.most = Math.max(seen.most, seen.running);
    await setImmediate();
    seen.running -= 1;
    return source.reader.commonAncestor(...ids);
  };
  const reader = wrap(source.reader, { commonAncestor });
  const { plan } = createBranchPlans({
    source: { reader, origin: null, merge: source.merge },
    reconciler,
    defaults: DEFAULTS,
    maxTime: 60_000,
  });
  await Promise.all(['topic', 'other', 'same', 'topic'].map((name) => plan(name)));
  expect(seen).toEqual({ made: 2, running: 0, most: 1 });
  await commit({ 'apps/db.yaml': 'container_image: db:1\n' });
  await reconciler.reconcile();
  await plan('topic');
  expect(seen.made).toBe(3);
});

it('a plan that takes too long is refused, and the next one is made', async () => {
  const { repository, commit, source, reconciler } = await buildEngine({
    files: { 'apps/web.yaml': 'container_image: web:1\n' },
  });
  await reconciler.reconcile();
  await repository.git('switch', '--quiet', '--create', 'topic');
  await commit({ 'apps/web.yaml': 'container_image: web:2\n', 'apps/db.yaml': 'container_image: db:1\n' });
  await repository.git('switch', '--quiet', 'main');
  const merge: Source['merge'] = (base, revision, use) =>
    source.merge(base, revision, (merged) => {
      const blob: Merged['blob'] = async (...args) => {
        await sleep(60);
        return merged.blob(...args);
      };
      return use({ ...merged, blob });
    });
  const { plan } = createBranchPlans({
    source: { reader: source.reader, origin: null, merge },
    reconciler,
    defaults: DEFAULTS,
    maxTime: 50,
  });
  await expect(plan('topic')).rejects.toMatchObject({ kind: 'unavailable', message: /within 0\.05 seconds/ });
  expect((await plan('main')).steps).toEqual([]);
});

it('a plan that is asked for while a revision is applied starts from that revision', async () => {
  let whileApplying = async (): Promise<void> => undefined;
  const { repository, commit, source, reconciler } = await buildEngine({
    files: { 'apps/web.yaml': 'container_image: web:1\n', 'apps/db.yaml': 'container_image: db:1\n' },
    wrapStore: (store) =>
      wrap(store, {
        apply: async (batch) => {
          await whileApplying();
          return store.apply(batch);
        },
      }),
  });
  await reconciler.reconcile();
  await repository.git('switch', '--quiet', '--create', 'topic');
  await commit({ 'apps/web.yaml': 'container_image: web:2\n' });
  await repository.git('switch', '--quiet', 'main');
  const head = await commit({ 'apps/web.yaml': 'container_image: web:2\n', 'apps/db.yaml': null });
  const { plan } = createBranchPlans({ source, reconciler, defaults: DEFAULTS, maxTime: 60_000 });
  const plans: Promise<BranchPlan>[] = [];
  whileApplying = async () => {
    plans.push(plan('topic'));
    // Long enough for a plan that does not wait.
    await sleep(500);
  };
  await reconciler.reconcile();
  expect(await Promise.all(plans)).toEqual([
    expect.objectContaining({ base: head, steps: [], problems: [] }),
  ]);
});
