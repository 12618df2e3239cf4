import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createBranchPlans } from '../../src/reconcile/branch-plan.ts';
import type { Reader } from '../../src/source/source.ts';
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
  const { plan } = createBranchPlans({ source: { reader, origin: null }, reconciler, defaults: DEFAULTS });
  await Promise.all(['topic', 'other', 'same', 'topic'].map((name) => plan(name)));
  expect(seen).toEqual({ made: 2, running: 0, most: 1 });
  await commit({ 'apps/db.yaml': 'container_image: db:1\n' });
  await reconciler.reconcile();
  await plan('topic');
  expect(seen.made).toBe(3);
});
