import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { forEachConcurrently } from '../../src/async/concurrency.ts';

describe('forEachConcurrently', () => {
  it('does each work once, in order, never more at once than there are lanes, and no fewer than it can', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.integer({ min: 1, max: 3 })),
        async (lanes, items) => {
          const begun: [turns: number, index: number][] = [];
          let running = 0;
          let most = 0;
          await forEachConcurrently(lanes, items, async (turns, index) => {
            begun.push([turns, index]);
            running += 1;
            most = Math.max(most, running);
            for (let turn = 0; turn < turns; turn++) await Promise.resolve();
            running -= 1;
          });
          expect(begun).toEqual(items.map((turns, index) => [turns, index]));
          expect(running).toBe(0);
          expect(most).toBe(Math.min(lanes, items.length));
        },
      ),
    );
  });

  it('after a failure begins nothing more, and rejects when what was under way has ended', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    const running = forEachConcurrently(2, [0, 1, 2, 3], async (item) => {
      begun.push(item);
      if (item === 0) throw new Error('first');
      for (let turn = 0; turn < 3; turn++) await setImmediate();
      ended.push(item);
      throw new Error('second');
    });
    await expect(running).rejects.toThrow('first');
    expect({ begun, ended }).toEqual({ begun: [0, 1], ended: [1] });
  });
});
