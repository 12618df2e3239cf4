import { expect, it } from 'vitest';
import type { Problem } from '../../src/desired/problem.ts';
import { createAging } from '../../src/reconcile/status.ts';
import { yieldsDuring } from '../support/yielding.ts';

const problem = (file: string, line: number, message = 'is wrong'): Problem => ({
  file,
  line,
  column: 1,
  code: 'field-unknown',
  message,
  severity: 'error',
});

it('keeps the time of a problem that remains, even if its line moves', async () => {
  const age = createAging();
  const first = await age([problem('apps/b.yaml', 3), problem('apps/a.yaml', 1)], 100);
  expect(first.map(({ file, since }) => [file, since])).toEqual([
    ['apps/a.yaml', 100],
    ['apps/b.yaml', 100],
  ]);
  const second = await age([problem('apps/b.yaml', 9), problem('apps/a.yaml', 1, 'is worse')], 200);
  expect(second.map(({ file, line, since }) => [file, line, since])).toEqual([
    ['apps/a.yaml', 1, 200],
    ['apps/b.yaml', 9, 100],
  ]);
});

it('sets a new time for a problem that returns', async () => {
  const age = createAging();
  await age([problem('apps/a.yaml', 1)], 100);
  await age([], 200);
  expect((await age([problem('apps/a.yaml', 1)], 300))[0]?.since).toBe(300);
});

it('returns the same list as before if it gets the same problem objects', async () => {
  const problems = [problem('apps/b.yaml', 3), problem('apps/a.yaml', 1)];
  const age = createAging();
  const first = await age(problems, 100);
  expect(await age([...problems], 200)).toBe(first);
  const third = await age([...problems, problem('apps/c.yaml', 1)], 300);
  expect(third.map(({ file, since }) => [file, since])).toEqual([
    ['apps/a.yaml', 100],
    ['apps/b.yaml', 100],
    ['apps/c.yaml', 300],
  ]);
  expect(await age([], 400)).toEqual([]);
});

it('yields to other work while it sorts many problems', async () => {
  const problems = () => Array.from({ length: 1000 }, (_, index) => problem(`other/${index}.txt`, 1));
  const age = createAging();
  // It yields in each of its two loops, and in a third over the problems of the previous pass.
  expect(await yieldsDuring(() => age(problems(), 100))).toBeGreaterThan(400);
  expect(await yieldsDuring(() => age(problems(), 100))).toBeGreaterThan(650);
});
