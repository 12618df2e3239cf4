import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createLimiter } from '../../src/async/limiter.ts';

/** Works that note when they begin, and end when they are told to. */
function setUp(limit: number, mostWaiting: number) {
  const takeTurns = createLimiter(limit, mostWaiting, () => new Error('too many'));
  const begun: string[] = [];
  const ends = new Map<string, (fails: boolean) => void>();
  const start = (name: string): Promise<string> =>
    takeTurns(() => {
      begun.push(name);
      return new Promise((resolve, reject) => {
        ends.set(name, (fails) => (fails ? reject(new Error(name)) : resolve(name)));
      });
    });
  return { begun, start, end: (name: string, fails = false) => ends.get(name)?.(fails) };
}

it('lets so many run at once, and the others in the order in which they came', async () => {
  const { begun, start, end } = setUp(2, 2);
  const works = ['a', 'b', 'c', 'd'].map(start);
  await setImmediate();
  expect(begun).toEqual(['a', 'b']);
  end('b');
  await setImmediate();
  expect(begun).toEqual(['a', 'b', 'c']);
  for (const name of ['a', 'c']) end(name);
  await setImmediate();
  end('d');
  expect(await Promise.all(works)).toEqual(['a', 'b', 'c', 'd']);
});

it('turns away who comes when enough wait, and takes who comes when one of them has begun', async () => {
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

it('gives the place of a work that failed to the next, and to nobody who comes at that moment as well', async () => {
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

it('has all its places again when everything has ended', async () => {
  const { begun, start, end } = setUp(2, 0);
  for (const [one, other] of [
    ['a', 'b'],
    ['c', 'd'],
  ] as const) {
    const works = [start(one), start(other)];
    await expect(start('refused')).rejects.toThrow('too many');
    await setImmediate();
    end(one);
    end(other);
    await Promise.all(works);
  }
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
});
