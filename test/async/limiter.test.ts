import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLimiter } from '../../src/async/limiter.ts';

/** A limiter with tasks that record when they begin, and end when `end` is called. */
function setUp(limit: number, mostWaiting: number) {
  const limited = createLimiter(limit, mostWaiting, () => new Error('too many'));
  const begun: string[] = [];
  const ends = new Map<string, (fails: boolean) => void>();
  const start = (name: string): Promise<string> =>
    limited(() => {
      begun.push(name);
      return new Promise((resolve, reject) => {
        ends.set(name, (fails) => (fails ? reject(new Error(name)) : resolve(name)));
      });
    });
  return { begun, start, end: (name: string, fails = false) => ends.get(name)?.(fails) };
}

describe('createLimiter', () => {
  it('runs as many tasks at once as the limit allows, and the others in the order in which they came', async () => {
    const { begun, start, end } = setUp(2, 2);
    const tasks = ['a', 'b', 'c', 'd'].map(start);
    await setImmediate();
    expect(begun).toEqual(['a', 'b']);
    end('b');
    await setImmediate();
    expect(begun).toEqual(['a', 'b', 'c']);
    for (const name of ['a', 'c']) end(name);
    await setImmediate();
    end('d');
    expect(await Promise.all(tasks)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('rejects tasks while enough others wait, and accepts them again once one of these has begun', async () => {
    const { begun, start, end } = setUp(1, 1);
    const first = start('first');
    const waiting = start('waiting');
    await expect(start('refused')).rejects.toThrow('too many');
    end('first');
    await first;
    await setImmediate();
    const later = start('later');
    end('waiting');
    await waiting;
    await setImmediate();
    end('later');
    await later;
    expect(begun).toEqual(['first', 'waiting', 'later']);
  });

  it('gives the slot of a failed task to the next waiting one, and not also to a new one', async () => {
    const { begun, start, end } = setUp(1, 5);
    const failing = start('failing');
    const next = start('next');
    end('failing', true);
    await expect(failing).rejects.toThrow('failing');
    const late = start('late');
    await setImmediate();
    expect(begun).toEqual(['failing', 'next']);
    end('next');
    await next;
    await setImmediate();
    end('late');
    expect(await late).toBe('late');
  });

  it('has all slots free again once all tasks have ended', async () => {
    const { begun, start, end } = setUp(2, 0);
    for (const [one, other] of [
      ['a', 'b'],
      ['c', 'd'],
    ] as const) {
      const tasks = [start(one), start(other)];
      await expect(start('refused')).rejects.toThrow('too many');
      await setImmediate();
      end(one);
      end(other);
      await Promise.all(tasks);
    }
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
  });
});
