import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Counter, FRESH_COUNTER, nextId, raise, startFloor } from '../../src/plan/ids.ts';

const LIMIT = 2 ** 53;

describe('nextId and raise', () => {
  it.each<[string, Counter, number]>([
    ['a name that never was', FRESH_COUNTER, 1],
    ['one more than the last', { last: 7, floor: 0 }, 8],
    ['a floor above', { last: 7, floor: 1_800_000_000 }, 1_800_000_000],
    ['a floor just above', { last: 7, floor: 8 }, 8],
    ['a floor at the last', { last: 7, floor: 7 }, 8],
    ['a floor below', { last: 9, floor: 3 }, 10],
  ])('%s', (_name, counter, expected) => {
    expect(nextId(counter)).toBe(expected);
    expect(raise(counter)).toEqual({ last: expected, floor: counter.floor });
  });

  it('rises strictly; the floor lifts only the next id, and without one it is exactly one more', () => {
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
    ['the time of the start', { now: NOW, newestCommit: 0, highestId: 0 }, NOW],
    [
      'a commit from the future, or a clock that was set back',
      { now: NOW, newestCommit: NOW + 5, highestId: 0 },
      NOW + 5,
    ],
    ['an id above both', { now: NOW, newestCommit: NOW, highestId: NOW + 9 }, NOW + 10],
    ['an id that is the time itself', { now: NOW, newestCommit: 0, highestId: NOW }, NOW + 1],
    ['a part of a second', { now: NOW + 0.25, newestCommit: 0, highestId: 0 }, NOW + 1],
    ['a clock at the end of time', { now: 2 ** 60, newestCommit: 0, highestId: 0 }, 2 ** 50],
    ['a forged time of a commit', { now: NOW, newestCommit: Number.MAX_VALUE, highestId: 0 }, 2 ** 50],
    ['an id beyond the end of time', { now: 2 ** 60, newestCommit: 0, highestId: 2 ** 51 }, 2 ** 51 + 1],
    ['a clock before 1970', { now: -5, newestCommit: 0, highestId: 0 }, 1],
  ])('%s', (_name, past, expected) => {
    expect(startFloor(past)).toBe(expected);
  });

  it('lies above every id that is known and every time that is possible, and leaves room below 2^53', () => {
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
