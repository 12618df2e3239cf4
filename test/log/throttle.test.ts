import { describe, expect, it } from 'vitest';
import { createThrottle } from '../../src/log/throttle.ts';

describe('createThrottle', () => {
  it('reports each cause at once, and then once a minute with the number since, whichever way the clock is set', () => {
    let now = 0;
    const { count } = createThrottle(() => now);
    expect([count('a'), count('a'), count('b'), count('a')]).toEqual([1, null, 1, null]);
    now = 59_999;
    expect(count('a')).toBeNull();
    now = 60_000;
    expect([count('a'), count('a'), count('b')]).toEqual([4, null, 1]);
    now = -1;
    expect(count('a')).toBe(2);
  });

  it('reports a cause at once again after it was cleared, or after a hundred others', () => {
    const { count, clear } = createThrottle(() => 0);
    expect([count('a'), count('a')]).toEqual([1, null]);
    clear();
    expect([count('a'), count('a')]).toEqual([1, null]);
    for (let other = 0; other < 100; other++) count(`other ${other}`);
    expect(count('a')).toBe(1);
  });
});
