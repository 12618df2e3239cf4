import { describe, expect, it } from 'vitest';
import { firstPollDelay, pollDelay } from '../../../src/worker/link/pace.ts';

describe('firstPollDelay', () => {
  it.each([
    [0, 0],
    [0.5, 5],
    [0.999, 9.99],
  ])('with the random number %f is %f seconds of an interval of ten', (random, delay) => {
    expect(firstPollDelay({ interval: 10, random })).toBeCloseTo(delay);
  });
});

describe('pollDelay', () => {
  const calm = { interval: 10, failures: 0, retryAfter: null };

  it.each<[string, Parameters<typeof pollDelay>[0], number]>([
    ['is a tenth shorter than the interval at least', { ...calm, random: 0 }, 9],
    ['is the interval on average', { ...calm, random: 0.5 }, 10],
    ['is nearly a tenth longer at most', { ...calm, random: 1 }, 11],
    ['is up to twice the interval after a failure', { ...calm, failures: 1, random: 1 }, 20],
    ['doubles with each failure', { ...calm, failures: 3, random: 1 }, 80],
    ['is five minutes at most', { ...calm, failures: 6, random: 1 }, 300],
    ['is five minutes at most after any number of failures', { ...calm, failures: 5000, random: 1 }, 300],
    ['is any part of that', { ...calm, failures: 6, random: 0.1 }, 30],
    ['is a second at least', { ...calm, failures: 6, random: 0 }, 1],
    [
      'is not shortened by the limit if the interval is longer',
      { interval: 900, failures: 4, retryAfter: null, random: 1 },
      900,
    ],
    ['keeps a wait that the manager asks for', { ...calm, failures: 1, retryAfter: 60, random: 0 }, 60],
    [
      'spreads a wait that a whole fleet is asked for',
      { ...calm, failures: 1, retryAfter: 60, random: 1 },
      66,
    ],
    [
      'is longer than that wait if failures ask for more',
      { ...calm, failures: 6, retryAfter: 60, random: 1 },
      300,
    ],
  ])('%s', (_name, input, delay) => {
    expect(pollDelay(input)).toBeCloseTo(delay);
  });
});
