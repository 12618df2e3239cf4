import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counter, FRESH_COUNTER, nextId, raise, startFloor } from '../../src/ids/counter.ts';

const LIMIT = 2 ** 53;

describe('nextId and raise', () => {
  it.each<[string, Counter, number]>([
    ['return 1 for a new name', FRESH_COUNTER, 1],
    ['return one more than the last id', { last: 7, floor: 0 }, 8],
    ['return a floor that is above the last id', { last: 7, floor: 1_800_000_000 }, 1_800_000_000],
    ['return a floor that is one above the last id', { last: 7, floor: 8 }, 8],
    ['ignore a floor that equals the last id', { last: 7, floor: 7 }, 8],
    ['ignore a floor that is below the last id', { last: 9, floor: 3 }, 10],
  ])('%s', (_name, counter, expected) => {
    expect(nextId(counter)).toBe(expected);
    expect(raise(counter)).toEqual({ last: expected, floor: counter.floor });
  });

  it('always rise, by exactly one unless the floor is higher', () => {
    const id = fc.integer({ min: 0, max: 2 ** 50 });
    fc.assert(
      fc.property(id, id, fc.integer({ min: 1, max: 50 }), (last, floor, times) => {
        let counter: Counter = { last, floor };
        for (let time = 0; time < times; time++) {
          const next = raise(counter);
          const isLifted = time === 0 && floor > last;
          expect(next.last).toBe(isLifted ? floor : counter.last + 1);
          expect(next.last).toBeGreaterThan(counter.last);
          expect(next.last).toBeLessThan(LIMIT);
          counter = next;
        }
      }),
    );
  });
});

describe('startFloor', () => {
  const NOW = 1_800_000_000;

  it.each([
    ['is the time of the start', { now: NOW, newestCommit: 0, highestId: 0 }, NOW],
    [
      'is the time of the newest commit if that is later than the clock',
      { now: NOW, newestCommit: NOW + 5, highestId: 0 },
      NOW + 5,
    ],
    [
      'is above the highest id if that is above both times',
      { now: NOW, newestCommit: NOW, highestId: NOW + 9 },
      NOW + 10,
    ],
    ['is above a highest id that equals the time', { now: NOW, newestCommit: 0, highestId: NOW }, NOW + 1],
    ['rounds a part of a second up', { now: NOW + 0.25, newestCommit: 0, highestId: 0 }, NOW + 1],
    [
      'is limited to 2^50 if the clock is far in the future',
      { now: 2 ** 60, newestCommit: 0, highestId: 0 },
      2 ** 50,
    ],
    [
      'is limited to 2^50 if the time of a commit is absurd',
      { now: NOW, newestCommit: Number.MAX_VALUE, highestId: 0 },
      2 ** 50,
    ],
    [
      'is above the highest id even beyond 2^50',
      { now: 2 ** 60, newestCommit: 0, highestId: 2 ** 51 },
      2 ** 51 + 1,
    ],
    ['is at least 1 if the clock is before 1970', { now: -5, newestCommit: 0, highestId: 0 }, 1],
  ])('%s', (_name, inputs, expected) => {
    expect(startFloor(inputs)).toBe(expected);
  });

  it('is above the highest id, not below either time, and far below 2^53', () => {
    const time = fc.double({ min: 0, max: 2 ** 50, noNaN: true });
    fc.assert(
      fc.property(time, time, fc.integer({ min: 0, max: 2 ** 52 }), (now, newestCommit, highestId) => {
        const floor = startFloor({ now, newestCommit, highestId });
        expect(Number.isSafeInteger(floor)).toBe(true);
        expect(floor).toBeGreaterThan(highestId);
        expect(floor).toBeGreaterThanOrEqual(now);
        expect(floor).toBeGreaterThanOrEqual(newestCommit);
        expect(raise({ last: highestId, floor }).last).toBe(floor);
        expect(floor).toBeLessThanOrEqual(2 ** 52 + 1);
      }),
    );
  });
});
