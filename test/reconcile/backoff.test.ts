import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ErrorKind } from '../../src/errors.ts';
import { reactionTo, retryDelay } from '../../src/reconcile/backoff.ts';

describe('the kind of an error decides what a failed pass waits for', () => {
  const rows: [ErrorKind, ReturnType<typeof reactionTo>][] = [
    ['stalled', 'stalled'],
    ['unavailable', 'waiting'],
    ['moved-on', 'waiting'],
    ['conflict', 'waiting'],
    ['internal', 'other'],
    ['invalid', 'other'],
    ['absent', 'other'],
    ['present', 'other'],
  ];
  it.each(rows)('%s: %s', (kind, reaction) => {
    expect(reactionTo(kind)).toBe(reaction);
  });
});

describe('the delay', () => {
  it.each([
    ['waiting', 1, 500],
    ['waiting', 2, 1000],
    ['waiting', 7, 30_000],
    ['waiting', 5000, 30_000],
    ['other', 1, 2000],
    ['other', 2, 4000],
    ['other', 9, 300_000],
  ] as const)('%s, failure %d: up to %d ms', (reaction, failures, most) => {
    expect(retryDelay(reaction, failures, 0)).toBe(most / 2);
    expect(retryDelay(reaction, failures, 1 - Number.EPSILON)).toBe(most);
  });

  it('is none for a revision that is refused', () => {
    expect(retryDelay('stalled', 1, 0.5)).toBeNull();
  });

  it('never shrinks with more failures, and stays within its half', () => {
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(fc.constantFrom('waiting', 'other'), fc.nat(2000), random, (reaction, failures, luck) => {
        const delay = retryDelay(reaction, failures, luck) ?? Number.NaN;
        const [least, most] = [
          retryDelay(reaction, failures, 0) ?? 0,
          (retryDelay(reaction, failures, 0) ?? 0) * 2,
        ];
        expect(delay).toBeGreaterThanOrEqual(least);
        expect(delay).toBeLessThanOrEqual(most);
        expect(retryDelay(reaction, failures + 1, luck)).toBeGreaterThanOrEqual(delay);
      }),
    );
  });
});
