import { describe, expect, it } from 'vitest';

import { keepsReserve, type Space } from '../../../src/store/space.ts';

const MIB = 2 ** 20;
const LARGE: Space = { total: 100_000 * MIB, free: 256 * MIB, unused: 0, growth: 0 };
const SMALL: Space = { total: 64 * MIB, free: 16 * MIB, unused: 0, growth: 0 };

describe('keepsReserve', () => {
  it.each<[string, Space, boolean]>([
    ['256 MiB of a large disk are free', LARGE, true],
    ['a byte less is free', { ...LARGE, free: LARGE.free - 1 }, false],
    ['a quarter of a small disk is free', SMALL, true],
    ['a byte less than a quarter is free', { ...SMALL, free: SMALL.free - 1 }, false],
    ['the rest is unused in the file of the store', { ...SMALL, free: 6 * MIB, unused: 10 * MIB }, true],
    ['the log still has to be copied into the file', { ...SMALL, growth: 1 }, false],
    ['the log fits into a disk with more room', { ...SMALL, free: 20 * MIB, growth: 4 * MIB }, true],
  ])('tells whether enough is left to everything else: %s', (_, space, isKept) => {
    expect(keepsReserve(space, 1)).toBe(isKept);
  });
  it('needs less for what may take a part of the reserve', () => {
    const space = { ...LARGE, free: 128 * MIB };
    expect([keepsReserve(space, 0.5), keepsReserve({ ...space, free: space.free - 1 }, 0.5)]).toEqual([
      true,
      false,
    ]);
  });
});
