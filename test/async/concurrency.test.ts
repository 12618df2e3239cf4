import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forEachConcurrently } from '../../src/async/concurrency.ts';

describe('forEachConcurrently', () => {
  it('calls the work once for each item, in order, with as many calls at once as the limit allows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 1, max: 3 })),
        async (limit, items) => {
          const begun: [ticks: number, index: number][] = [];
          let running = 0;
          let most = 0;
          await forEachConcurrently(limit, items, async (ticks, index) => {
            begun.push([ticks, index]);
            running += 1;
            most = Math.max(most, running);
            for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
            running -= 1;
          });
          expect(begun).toEqual(items.map((ticks, index) => [ticks, index]));
          expect(running).toBe(0);
          expect(most).toBe(Math.min(limit, items.length));
        },
      ),
    );
  });

  it('begins no more calls after a failure, and rejects once the running calls have ended', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const running = forEachConcurrently(2, [0, 1, 2, 3], async (item) => {
      begun.push(item);
      if (item === 0) throw new Error('first');
      for (let tick = 0; tick < 3; tick++) await setImmediate();
      ended.push(item);
      throw new Error('second');
    });
    await expect(running).rejects.toThrow('first');
    expect({ begun, ended }).toEqual({ begun: [0, 1], ended: [1] });
  });
});
