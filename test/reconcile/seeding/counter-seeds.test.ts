import { expect, it } from 'vitest';
import { seedsOf } from '../../../src/reconcile/seeding/counter-seeds.ts';
import { yieldsDuring } from '../../support/yielding.ts';

it('yields to other work while it merges a history with many names', async () => {
  const paths = Array.from({ length: 1000 }, (_, index) => `apps/team-${index % 100}/app-${index}.yaml`);
  const rows = paths.map((_, index) => ({ kind: 'app', name: `app-${index}`, last: 1, hash: null }) as const);
  const sources = { paths, stored: rows, recorded: rows, otherLine: rows, policy: 'raise' } as const;
  // It yields in each of its four loops.
  expect(await yieldsDuring(() => seedsOf(sources, () => false, 100))).toBeGreaterThan(900);
});
