import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sameValue } from '../../src/protocol/values.ts';

describe('sameValue', () => {
  it.each<[string, unknown, unknown]>([
    ['equal scalars', 'a', 'a'],
    ['maps with another order of keys', { a: 1, b: { c: 1, d: 2 } }, { b: { d: 2, c: 1 }, a: 1 }],
    ['equal lists', [1, [2]], [1, [2]]],
  ])('is true for %s', (_name, a, b) => {
    expect(sameValue(a, b)).toBe(true);
    expect(sameValue(b, a)).toBe(true);
  });

  it.each<[string, unknown, unknown]>([
    ['a number and its text', 1, '1'],
    ['null and undefined', null, undefined],
    ['null and a map', null, {}],
    ['maps of which only one has a key', { a: 1 }, { a: 1, b: undefined }],
    ['maps with the same number of other keys', { a: undefined }, { b: undefined }],
    ['maps of which one has a key of the prototype', { toString: 1 }, { a: 1 }],
    ['lists in another order', [1, 2], [2, 1]],
    ['lists of different lengths', [1], [1, 2]],
    ['a list and a map', [], {}],
    ['a list and a map with a length', { length: 0 }, []],
  ])('is false for %s', (_name, a, b) => {
    expect(sameValue(a, b)).toBe(false);
    expect(sameValue(b, a)).toBe(false);
  });

  it('agrees with a comparison of the JSON with sorted keys', () => {
    const value = fc.jsonValue({ maxDepth: 3, noUnicodeString: true });
    const sortedText = (item: unknown): string =>
      JSON.stringify(item, (_key, inner) =>
        typeof inner === 'object' && inner !== null && !Array.isArray(inner)
          ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
          : inner,
      );
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(sameValue(a, b)).toBe(sortedText(a) === sortedText(b));
        expect(sameValue(a, structuredClone(a))).toBe(true);
      }),
    );
  });
});
