import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlobContent, EntryType } from '../../src/desired/entry.ts';
import { loadFile } from '../../src/desired/load.ts';
import { compareProblems, type Problem, type ProblemCode } from '../../src/desired/problem.ts';
import { DesiredState } from '../../src/desired/state.ts';
import { makePlan } from '../../src/plan/plan.ts';
import { appliedOf, DEFAULTS, type Files } from '../support/fleet.ts';

const A = 'container_image: web:1\n';

interface Case {
  /** By path: the text of a file, or what is in the place of a file. */
  now: Readonly<Record<string, string | Exclude<EntryType, 'file'> | BlobContent>>;
  /** The files that are applied. */
  was?: Files;
  /** The reported position. */
  place: string;
  /** The part of the message that says how to fix the problem. */
  advice: RegExp;
}

/** The codes that only commands report (test/cli). */
type CommandCode =
  | 'folder-empty'
  | 'merge-conflict'
  | 'file-ignored'
  | 'port-conflict'
  | 'mount-conflict'
  | 'variable-literal';

/** An example of each other code. */
const CASES: Record<Exclude<ProblemCode, CommandCode>, Case> = {
  'file-too-large': {
    now: { 'apps/a.yaml': { tooLarge: 300_000 } },
    place: 'apps/a.yaml:1:1',
    advice: /split or shorten it$/,
  },
  'file-not-text': { now: { 'apps/a.yaml': 'a: \0' }, place: 'apps/a.yaml:1:1', advice: /save it as UTF-8$/ },
  'file-symlink': {
    now: { 'apps/a.yaml': 'symlink' },
    place: 'apps/a.yaml:1:1',
    advice: /commit the file itself$/,
  },
  'file-submodule': {
    now: { 'apps/a': 'submodule' },
    place: 'apps/a:1:1',
    advice: /commit the files themselves$/,
  },
  'file-unreadable': {
    now: { 'apps/a.yaml': { missing: true } },
    place: 'apps/a.yaml:1:1',
    advice: /check its permissions, and the repository \(git fsck\)$/,
  },
  'file-unexpected': { now: { 'apps/a.txt': 'a' }, place: 'apps/a.txt:1:1', advice: /move or remove it$/ },
  'file-lfs-pointer': {
    now: { 'apps/a.yaml': 'version https://git-lfs.github.com/spec/v1\n' },
    place: 'apps/a.yaml:1:1',
    advice: /remove it from LFS and commit the text$/,
  },
  'name-invalid': { now: { 'apps/a b.yaml': A }, place: 'apps/a b.yaml:1:1', advice: /rename the file$/ },
  'name-duplicate': {
    now: { 'apps/a.yaml': A, 'apps/x/a.yaml': A },
    place: 'apps/a.yaml:1:1',
    advice: /rename or remove all but one of these files$/,
  },
  'yaml-syntax': {
    now: { 'apps/a.yaml': `${A}a:\n\tb: 1\n` },
    place: 'apps/a.yaml:3:1',
    advice: /^indent with spaces/,
  },
  'yaml-alias': {
    now: { 'apps/a.yaml': 'a: &x 1\nb: *x\n' },
    place: 'apps/a.yaml:2:4',
    advice: /^write the value out/,
  },
  'yaml-tag': { now: { 'apps/a.yaml': 'a: !x 1\n' }, place: 'apps/a.yaml:1:4', advice: /^remove this tag/ },
  'yaml-directive': {
    now: { 'apps/a.yaml': '%YAML 1.1\n---\n' },
    place: 'apps/a.yaml:1:1',
    advice: /^remove the lines/,
  },
  'yaml-key': {
    now: { 'apps/a.yaml': '__proto__: 1\n' },
    place: 'apps/a.yaml:1:1',
    advice: /choose another name$/,
  },
  'yaml-integer': {
    now: { 'apps/a.yaml': 'a: 9007199254740993\n' },
    place: 'apps/a.yaml:1:4',
    advice: /write this one in quotes$/,
  },
  'yaml-depth': {
    now: { 'apps/a.yaml': '['.repeat(40) },
    place: 'apps/a.yaml:1:33',
    advice: /at most 32 levels are read$/,
  },
  'field-missing': {
    now: { 'apps/a.yaml': 'running: true\n' },
    place: 'apps/a.yaml:1:1',
    advice: /^container_image is required$/,
  },
  'field-unknown': {
    now: { 'apps/a.yaml': `${A}unknown: x\n` },
    place: 'apps/a.yaml:2:1',
    advice: /known fields are container_image/,
  },
  'field-invalid': {
    now: { 'apps/a.yaml': 'container_image: 1\n' },
    place: 'apps/a.yaml:1:1',
    advice: /write it in quotes$/,
  },
  'app-unknown': {
    now: { 'device-groups/g.yaml': 'apps:\n- a\n' },
    place: 'device-groups/g.yaml:2:3',
    advice: /add apps\/a\.yaml, or remove the name from this list$/,
  },
  'app-waiting': {
    now: { 'apps/a.yaml': '', 'device-groups/g.yaml': 'apps:\n- a\n' },
    place: 'device-groups/g.yaml:2:3',
    advice: /waits until apps\/a\.yaml is fixed$/,
  },
  'app-retained': {
    was: { 'apps/a.yaml': A, 'device-groups/g.yaml': 'apps: [a]\n' },
    now: { 'device-groups/g.yaml': '' },
    place: 'device-groups/g.yaml:1:1',
    advice: /fix this file, and the app is deleted$/,
  },
  'group-unknown': {
    now: { 'devices/d.yaml': 'device_group: g\n' },
    place: 'devices/d.yaml:1:1',
    advice: /add device-groups\/g\.yaml, or name another one$/,
  },
  'group-waiting': {
    now: { 'device-groups/g.yaml': '', 'devices/d.yaml': 'device_group: g\n' },
    place: 'devices/d.yaml:1:1',
    advice: /waits until device-groups\/g\.yaml is fixed$/,
  },
  'group-retained': {
    was: { 'device-groups/g.yaml': 'apps: []\n', 'devices/d.yaml': 'device_group: g\n' },
    now: { 'devices/d.yaml': 'variables: 1\n' },
    place: 'devices/d.yaml:1:1',
    advice: /fix this file, and the group is deleted$/,
  },
};

const NON_FILES: readonly unknown[] = ['symlink', 'submodule', 'special'];

async function problemsOf({ now, was = {} }: Case): Promise<Problem[]> {
  const desired = new DesiredState();
  for (const [path, content] of Object.entries(now)) {
    const type = (NON_FILES.includes(content) ? content : 'file') as EntryType;
    const blob = typeof content === 'string' ? { bytes: Buffer.from(content) } : content;
    desired.apply([{ path, file: await loadFile({ path, type, blob: path }, async () => blob, DEFAULTS) }]);
  }
  const applied = appliedOf(was);
  const { problems } = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
  return [...desired.problems(), ...[...problems.values()].flat()];
}

describe('a problem of each code', () => {
  it.each(Object.entries(CASES))('has a position and advice: %s', async (code, example) => {
    const problem = (await problemsOf(example)).find((each) => each.code === code);
    expect(problem).toBeDefined();
    expect(`${problem?.file}:${problem?.line}:${problem?.column}`).toBe(example.place);
    expect(problem?.message).toMatch(example.advice);
    expect(problem?.severity).toBe(code === 'file-unexpected' ? 'warning' : 'error');
  });
});

describe('compareProblems', () => {
  const problem = fc.record<Problem>({
    file: fc.constantFrom('a', 'b'),
    line: fc.integer({ min: 1, max: 2 }),
    column: fc.integer({ min: 1, max: 12 }),
    code: fc.constantFrom('yaml-key', 'app-unknown'),
    message: fc.constantFrom('x', 'y'),
    severity: fc.constant('error'),
  });

  it('orders by file, then line and column as numbers', () => {
    const at = (file: string, line: number, column: number): Problem => ({
      file,
      line,
      column,
      code: 'yaml-key',
      message: '',
      severity: 'error',
    });
    const ordered = [at('a', 2, 9), at('a', 10, 2), at('a', 10, 11), at('b', 1, 1)];
    expect([...ordered].reverse().sort(compareProblems)).toEqual(ordered);
  });

  it('is a total order, so the sorted problems do not depend on the order in which they were found', () => {
    fc.assert(
      fc.property(fc.array(problem), fc.infiniteStream(fc.nat()), (problems, dice) => {
        const shuffled = problems
          .map((problem) => ({ problem, at: dice.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ problem }) => problem);
        expect(shuffled.sort(compareProblems)).toEqual([...problems].sort(compareProblems));
      }),
    );
    fc.assert(
      fc.property(problem, problem, (a, b) => {
        expect(Math.sign(compareProblems(a, b))).toBe(0 - Math.sign(compareProblems(b, a)));
        expect(compareProblems(a, { ...a })).toBe(0);
      }),
    );
  });
});
