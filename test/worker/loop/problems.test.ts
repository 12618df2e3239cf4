import { describe, expect, it } from 'vitest';
import { Problems } from '../../../src/worker/loop/problems.ts';

describe('a problem of the device', () => {
  it('counts how often something was tried, and keeps since when it is there', () => {
    let now = 10;
    const problems = new Problems(() => now);
    expect(problems.note('engine-unavailable', 'no socket')).toBe(true);
    now = 20;
    expect(problems.note('engine-unavailable', 'no socket')).toBe(false);
    expect(problems.note('engine-unavailable', 'no answer')).toBe(true);
    expect(problems.list()).toEqual([
      { code: 'engine-unavailable', text: 'no answer', since: 10, attempts: 3, next_try: null },
    ]);
    expect([problems.clear('engine-unavailable'), problems.clear('engine-unavailable')]).toEqual([
      true,
      false,
    ]);
  });

  it('counts no attempts if it is a state of affairs', () => {
    const problems = new Problems(() => 10);
    expect([1, 2].map(() => problems.show('disk-pressure', '90 % full'))).toEqual([true, false]);
    expect(problems.list()).toMatchObject([{ attempts: 0, since: 10 }]);
  });
});
