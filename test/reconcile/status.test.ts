import { expect, it } from 'vitest';
import type { Problem } from '../../src/desired/problem.ts';
import { ageProblems } from '../../src/reconcile/status.ts';

const problem = (file: string, line: number, message = 'is wrong'): Problem => ({
  file,
  line,
  column: 1,
  code: 'field-unknown',
  message,
  severity: 'error',
});

it('keeps the age of a problem that stays, also when its line moves', () => {
  const first = ageProblems([problem('apps/b.yaml', 3), problem('apps/a.yaml', 1)], [], 100);
  expect(first.map(({ file, since }) => [file, since])).toEqual([
    ['apps/a.yaml', 100],
    ['apps/b.yaml', 100],
  ]);
  const second = ageProblems([problem('apps/b.yaml', 9), problem('apps/a.yaml', 1, 'is worse')], first, 200);
  expect(second.map(({ file, line, since }) => [file, line, since])).toEqual([
    ['apps/a.yaml', 1, 200],
    ['apps/b.yaml', 9, 100],
  ]);
});

it('lets a problem that comes back begin anew', () => {
  const first = ageProblems([problem('apps/a.yaml', 1)], [], 100);
  const none = ageProblems([], first, 200);
  expect(ageProblems([problem('apps/a.yaml', 1)], none, 300)[0]?.since).toBe(300);
});
