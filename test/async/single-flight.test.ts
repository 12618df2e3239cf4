import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSingleFlight } from '../../src/async/single-flight.ts';

it('answers each request with a run that began after it, and never runs twice at once', async () => {
  const act = fc.constantFrom('request', 'finish', 'fail', 'turn');
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 40 }), async (acts) => {
      let begun = 0;
      let running = 0;
      let most = 0;
      const ends: ((fails: boolean) => void)[] = [];
      const flight = createSingleFlight(() => {
        begun += 1;
        running += 1;
        most = Math.max(most, running);
        const run = begun;
        return new Promise<number>((resolve, reject) => {
          ends.push((fails) => {
            running -= 1;
            if (fails) reject(run);
            else resolve(run);
          });
        });
      });
      const answers: Promise<void>[] = [];
      for (const one of acts) {
        if (one === 'request') {
          const before = begun;
          const check = (run: number): void => expect(run).toBeGreaterThan(before);
          answers.push(flight.request().then(check, check));
        } else if (one === 'turn') await new Promise((resolve) => setImmediate(resolve));
        else ends.shift()?.(one === 'fail');
      }
      let isIdle = false;
      const idle = flight.idle().then(() => {
        isIdle = true;
      });
      while (!isIdle) {
        ends.shift()?.(false);
        await new Promise((resolve) => setImmediate(resolve));
      }
      expect(running).toBe(0);
      await Promise.all([idle, ...answers]);
      expect(most).toBeLessThanOrEqual(1);
      // Requests that wait together share a run.
      expect(begun).toBeLessThanOrEqual(answers.length);
    }),
    { numRuns: 300 },
  );
});

it('answers all requests that come during a run with the next run', async () => {
  let runs = 0;
  const flight = createSingleFlight(async () => {
    runs += 1;
    await new Promise((resolve) => setImmediate(resolve));
    return runs;
  });
  const answers = await Promise.all(Array.from({ length: 50 }, () => flight.request()));
  expect(answers).toEqual([1, ...Array(49).fill(2)]);
});

it('landed waits only for the active run, and resolves to the latest result, even if that run fails', async () => {
  const ends: ((outcome: number | Error) => void)[] = [];
  const flight = createSingleFlight(
    () =>
      new Promise<number>((resolve, reject) => {
        ends.push((outcome) => (typeof outcome === 'number' ? resolve(outcome) : reject(outcome)));
      }),
  );
  expect(await flight.landed()).toBe(null);
  const [first, second] = [flight.request(), flight.request()];
  const landed = flight.landed();
  ends[0]?.(1);
  expect([await landed, await first]).toEqual([1, 1]);
  await expect.poll(() => ends.length).toBe(2);
  const failed = flight.landed();
  ends[1]?.(new Error('no'));
  await expect(second).rejects.toThrow('no');
  expect(await failed).toBe(1);
});

it('lets something be done between two runs, or at once if there is none', async () => {
  const order: string[] = [];
  const ends: (() => void)[] = [];
  const flight = createSingleFlight(async () => {
    order.push('begins');
    await new Promise<void>((resolve) => ends.push(resolve));
    order.push('ends');
  });
  const note = (text: string) => flight.between(() => order.push(text));
  await note('at once');
  const runs = [flight.request(), flight.request()];
  const noted = note('between');
  const failed = expect(flight.between(() => JSON.parse(''))).rejects.toThrow(SyntaxError);
  while (ends.length < 2) {
    ends[0]?.();
    await new Promise((resolve) => setImmediate(resolve));
  }
  ends[1]?.();
  await Promise.all([...runs, noted, failed]);
  expect(order).toEqual(['at once', 'begins', 'ends', 'between', 'begins', 'ends']);
});
