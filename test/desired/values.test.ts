import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sameValue } from '../../src/desired/values.ts';

describe('sameValue', () => {
  it.each<[string, unknown, unknown, boolean]>([
    ['equal scalars', 'a', 'a', true],
    ['a number and its text', 1, '1', false],
    ['null and nothing', null, undefined, false],
    ['null and a map', null, {}, false],
    ['maps in another order of keys', { a: 1, b: { c: 1, d: 2 } }, { b: { d: 2, c: 1 }, a: 1 }, true],
    ['a key that only one side has', { a: 1 }, { a: 1, b: undefined }, false],
    ['other keys, as many of them', { a: undefined }, { b: undefined }, false],
    ['a key of the prototype', { toString: 1 }, { a: 1 }, false],
    ['equal lists', [1, [2]], [1, [2]], true],
    ['lists in another order', [1, 2], [2, 1], false],
    ['a list that goes on', [1], [1, 2], false],
    ['a list and a map', [], {}, false],
    ['a map and a list', { length: 0 }, [], false],
  ])('%s', (_name, a, b, expected) => {
    expect(sameValue(a, b)).toBe(expected);
    expect(sameValue(b, a)).toBe(expected);
  });

  it('agrees with a comparison of texts with sorted keys', () => {
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
