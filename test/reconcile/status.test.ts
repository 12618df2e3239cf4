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

it('keeps the age of a problem that stays, also when its line moves', async () => {
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

it('lets a problem that comes back begin anew', async () => {
  const age = createAging();
  await age([problem('apps/a.yaml', 1)], 100);
  await age([], 200);
  expect((await age([problem('apps/a.yaml', 1)], 300))[0]?.since).toBe(300);
});

it('gives the list of the pass before while its problems are the very same', async () => {
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

it('gives way to others where there are very many', async () => {
  const problems = () => Array.from({ length: 1000 }, (_, index) => problem(`other/${index}.txt`, 1));
  const age = createAging();
  // In each of its loops: two, and one more over those of the pass before.
  expect(await yieldsDuring(() => age(problems(), 100))).toBeGreaterThan(400);
  expect(await yieldsDuring(() => age(problems(), 100))).toBeGreaterThan(650);
});
