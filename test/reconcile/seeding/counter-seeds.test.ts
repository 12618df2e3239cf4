import { expect, it } from 'vitest';
import { seedsOf } from '../../../src/reconcile/seeding/counter-seeds.ts';
import { yieldsDuring } from '../../support/yielding.ts';

it('gives way to others where a history has very many names', async () => {
  const paths = Array.from({ length: 1000 }, (_, index) => `apps/team-${index % 100}/app-${index}.yaml`);
  const rows = paths.map((_, index) => ({ kind: 'app', name: `app-${index}`, last: 1, hash: null }) as const);
  const sources = { paths, stored: rows, recorded: rows, otherLine: rows, policy: 'raise' } as const;
  // In each of its four loops.
  expect(await yieldsDuring(() => seedsOf(sources, () => false, 100))).toBeGreaterThan(900);
});
