import { describe, expect, it } from 'vitest';
import type { CounterKind, CounterRow } from '../../../src/ids/id-store.ts';
import { type CounterSources, seedsOf } from '../../../src/ids/seeding/counter-seeds.ts';
import { yieldsDuring } from '../../support/yielding.ts';

it('yields to other work while it merges a history with many names', async () => {
  const paths = Array.from({ length: 1000 }, (_, index) => `apps/team-${index % 100}/app-${index}.yaml`);
  const rows = paths.map((_, index) => ({ kind: 'app', name: `app-${index}`, last: 1, hash: null }) as const);
  const sources = { paths, stored: rows, recorded: rows };
  // It yields in each of its three loops.
  expect(await yieldsDuring(() => seedsOf(sources, () => false, 100))).toBeGreaterThan(700);
});

describe('the seeds of a store', () => {
  const row = (kind: CounterKind, name: string, last: number, hash: string | null = null): CounterRow => ({
    kind,
    name,
    last,
    hash,
  });
  const PATHS = [
    'apps/known.yaml',
    'apps/a/past.yml',
    'device-groups/edge.yaml',
    'README.md',
    'apps/-bad.yaml',
  ];
  const FROM_PATHS = { 'app known': 99, 'app past': 99, 'device_group edge': 99, 'prune edge': 99 };
  const STORED = [row('app', 'known', 5, 'h'), row('app', 'elsewhere', 3, 'h')];

  it.each<[string, Partial<CounterSources>, Record<string, number>]>([
    ['have a floor for each name that git knows', {}, FROM_PATHS],
    [
      'keep stored ids, with a floor',
      { stored: STORED },
      { ...FROM_PATHS, 'app known': 5, 'app elsewhere': 3 },
    ],
    [
      'keep recorded ids of trusted objects, and of every prune',
      { recorded: [row('app', 'known', 7, 'h'), row('app', 'past', 8, 'h'), row('prune', 'edge', 9)] },
      { ...FROM_PATHS, 'app known': 7, 'prune edge': 9 },
    ],
    [
      'keep no stored id of an object whose recorded id is not trusted',
      { stored: STORED, recorded: [row('app', 'elsewhere', 8, 'h')] },
      { ...FROM_PATHS, 'app known': 5, 'app elsewhere': 99 },
    ],
  ])('%s', async (_, sources, lasts) => {
    const all = { paths: PATHS, stored: [], recorded: [], ...sources };
    const seeds = await seedsOf(all, (key) => key === 'app/known', 100);
    expect(Object.fromEntries(seeds.map(({ kind, name, last }) => [`${kind} ${name}`, last]))).toEqual(lasts);
    for (const { kind, floor, last, hash } of seeds)
      expect([floor, hash]).toEqual([100, last === 99 || kind === 'prune' ? null : 'h']);
  });
});
