import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { retryDelay } from '../../src/async/backoff.ts';

describe('retryDelay', () => {
  it.each([
    ['unavailable', 1, 500],
    ['unavailable', 2, 1000],
    ['unavailable', 7, 30_000],
    ['unavailable', 5000, 30_000],
    ['moved-on', 1, 500],
    ['conflict', 1, 500],
    ['internal', 1, 2000],
    ['internal', 2, 4000],
    ['internal', 9, 300_000],
    ['invalid', 1, 2000],
    ['absent', 1, 2000],
    ['present', 1, 2000],
  ] as const)(
    'for kind %s after failure %d lies between half of %d ms and all of it',
    (kind, failures, most) => {
      expect(retryDelay(kind, failures, 0)).toBe(most / 2);
      expect(retryDelay(kind, failures, 1 - Number.EPSILON)).toBe(most);
    },
  );

  it('is null for a revision that is refused', () => {
    expect(retryDelay('refused', 1, 0.5)).toBeNull();
  });

  it('never falls with more failures, and is at most twice the shortest delay', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(
        fc.constantFrom('unavailable', 'internal'),
        fc.nat(2000),
        random,
        (kind, failures, randomNumber) => {
          const delay = retryDelay(kind, failures, randomNumber) ?? Number.NaN;
          const [least, most] = [
            retryDelay(kind, failures, 0) ?? 0,
            (retryDelay(kind, failures, 0) ?? 0) * 2,
          ];
          expect(delay).toBeGreaterThanOrEqual(least);
          expect(delay).toBeLessThanOrEqual(most);
          expect(retryDelay(kind, failures + 1, randomNumber)).toBeGreaterThanOrEqual(delay);
        },
      ),
    );
  });
});
