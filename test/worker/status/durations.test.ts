import { describe, expect, it } from 'vitest';
import { durationText } from '../../../src/text/durations.ts';

describe('durationText', () => {
  it.each([
    [-5, '0 s'],
    [0, '0 s'],
    [59.4, '59 s'],
    [60, '1 min'],
    [61, '1 min 1 s'],
    [3600, '1 h'],
    [3661, '1 h 1 min'],
    [7199.9, '2 h'],
    [86_400, '1 d'],
    [90_000, '1 d 1 h'],
    [8_640_000, '100 d'],
  ])('of %d seconds is %j', (seconds, text) => {
    expect(durationText(seconds)).toBe(text);
  });
});
