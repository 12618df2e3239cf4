import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ParsedFile } from '../../src/desired/parse.ts';
import { DesiredState, type FileChange } from '../../src/desired/state.ts';
import { parseKey } from '../../src/protocol/name.ts';
import {
  anyCommit,
  appOf,
  changesOf,
  type Files,
  stateFile,
  stateOf,
  withoutMessage,
} from '../support/fleet.ts';

const A = 'container_image: web:1\n';
const INVALID = 'container_image: [\n';

/** Everything that can be read from a state, in a fixed order. */
function contentsOf(state: DesiredState): object {
  const keys = [...state.keys()].sort();
  return {
    isEmpty: state.isEmpty,
    files: [...state.files()].sort((a, b) => (a.path < b.path ? -1 : 1)),
    objects: keys.map((key) => {
      const { kind, name } = parseKey(key);
      return [
        key,
        state.pathsOf(kind, name),
        kind === 'app' ? state.app(name) : state.group(name),
        state.problemsOf(kind, name),
      ];
    }),
    listing: ['a', 'b', 'c', 'unknown'].map((app) => [...state.groupsListing(app)].sort()),
    problems: state.problems(),
  };
}

describe('DesiredState', () => {
  it('is empty at first', () => {
    const state = new DesiredState();
    expect([state.isEmpty, [...state.keys()], [...state.files()], state.problems()]).toEqual([
      true,
      [],
      [],
      [],
    ]);
    expect([state.app('a'), state.group('g'), state.file('x'), state.pathsOf('app', 'a')]).toEqual([
      undefined,
      undefined,
      undefined,
      [],
    ]);
    expect([...state.groupsListing('a')]).toEqual([]);
  });

  it('finds objects by their names in any folder', () => {
    const state = stateOf({ 'apps/team/a.yml': A, 'device-groups/g.yaml': 'apps: [a]\n' });
    expect(state.app('a')).toEqual({
      path: 'apps/team/a.yml',
      blob: A,
      content: appOf(),
      memberPositions: [],
    });
    expect(state.group('g')).toMatchObject({
      content: { apps: ['a'] },
      memberPositions: [{ line: 1, column: 8 }],
    });
    expect([state.app('g'), state.group('a')]).toEqual([undefined, undefined]);
    expect([...state.keys()].sort()).toEqual(['app/a', 'device_group/g']);
    expect([...state.groupsListing('a')]).toEqual(['g']);
    expect(state.file('apps/team/a.yml')).toEqual(stateFile('apps/team/a.yml', A));
  });

  it('has an invalid object without content, but with its problems', () => {
    const state = stateOf({ 'apps/a.yaml': INVALID });
    expect(state.isEmpty).toBe(false);
    expect(state.app('a')).toEqual({
      path: 'apps/a.yaml',
      blob: INVALID,
      content: undefined,
      memberPositions: [],
    });
    expect(state.problems().map(withoutMessage)).toEqual(['apps/a.yaml:2:1 yaml-syntax']);
    expect(state.problemsOf('app', 'a')).toEqual(state.problems());
    expect(state.problemsOf('device_group', 'a')).toEqual([]);
  });

  it('lists files that are not objects only among its files and problems', () => {
    const state = stateOf({ 'notes.txt': 'x', 'apps/a b.yaml': A, 'README.md': 'x' });
    expect([state.isEmpty, [...state.keys()]]).toEqual([true, []]);
    expect([...state.files()].map(({ path }) => path).sort()).toEqual(['apps/a b.yaml', 'notes.txt']);
    expect(state.problems().map((problem) => `${problem.severity} ${withoutMessage(problem)}`)).toEqual([
      'error apps/a b.yaml:1:1 name-invalid',
      'warning notes.txt:1:1 file-unexpected',
    ]);
  });

  it('lists its problems again only after a file with problems has changed', () => {
    const state = stateOf({ 'apps/a.yaml': A, 'apps/b.yaml': INVALID, 'notes.txt': 'x' });
    const before = state.problems();
    state.apply(changesOf({ 'apps/a.yaml': 'container_image: web:2\n', 'apps/c.yaml': A }));
    state.copy().apply(changesOf({ 'apps/b.yaml': null, 'apps/c.yaml': null }));
    expect(state.problems()).toBe(before);
    state.apply(changesOf({ 'apps/b.yaml': A }));
    expect(state.problems().map(withoutMessage)).toEqual(['notes.txt:1:1 file-unexpected']);
  });

  it('lists the problems of a large folder in several steps, sorted by path', () => {
    const others = Array.from({ length: 5000 }, (_, index) => [`notes/${index}.txt`, 'x'] as const);
    const state = stateOf(Object.fromEntries(others));
    const steps = [...state.listingProblems()].length;
    expect(steps).toBeGreaterThan(1);
    expect(state.problems().map(({ file }) => file)).toEqual(others.map(([path]) => path).sort());
    state.apply(changesOf({ 'notes/17.txt': null, 'apps/a b.yaml': A, 'zz.txt': 'x' }));
    expect([...state.listingProblems()]).toHaveLength(1);
    expect(state.problems()).toHaveLength(5001);
    expect(state.problems()).toEqual(state.copy().problems());
  });

  describe('with several files of one name', () => {
    const DUPLICATES: Files = { 'apps/a.yaml': A, 'apps/x/a.yaml': A, 'apps/a.yml': INVALID };

    it('has the object without content, and reports each file', () => {
      const state = stateOf(DUPLICATES);
      expect(state.app('a')).toMatchObject({ path: 'apps/a.yaml', content: undefined });
      expect(state.pathsOf('app', 'a')).toEqual(['apps/a.yaml', 'apps/a.yml', 'apps/x/a.yaml']);
      expect(state.problems().map(withoutMessage)).toEqual([
        'apps/a.yaml:1:1 name-duplicate',
        'apps/a.yml:1:1 name-duplicate',
        'apps/a.yml:2:1 yaml-syntax',
        'apps/x/a.yaml:1:1 name-duplicate',
      ]);
      expect(state.problems()[0]?.message).toBe(
        'duplicate name "a", also used by apps/a.yml, apps/x/a.yaml; rename or remove all but one of these files',
      );
    });

    it('names only some of many files in a problem, independently of the order of changes', () => {
      const paths = Array.from({ length: 300 }, (_, index) => `apps/${100 + index}/app.yaml`);
      const files = Object.fromEntries(paths.map((path) => [path, A]));
      const state = stateOf(Object.fromEntries(Object.entries(files).reverse()));
      expect(state.problems()).toEqual(stateOf(files).problems());
      expect(state.problems().map(({ file }) => file)).toEqual(paths);
      expect(Math.max(...state.problems().map(({ message }) => message.length))).toBeLessThan(200);
      expect(state.problems()[0]?.message).toContain(
        'apps/101/app.yaml, apps/102/app.yaml, apps/103/app.yaml and others;',
      );
      state.apply(changesOf({ [paths[1] as string]: null }));
      expect(state.problems()[0]?.message).toContain(
        'apps/102/app.yaml, apps/103/app.yaml, apps/104/app.yaml and',
      );
      expect(state.problems()[298]?.message).toContain(
        'apps/100/app.yaml, apps/102/app.yaml, apps/103/app.yaml and',
      );
    });

    it('has the content again once only one file is left', () => {
      const state = stateOf(DUPLICATES);
      expect([...state.apply(changesOf({ 'apps/a.yaml': null, 'apps/a.yml': null }))]).toEqual(['app/a']);
      expect(state.app('a')).toMatchObject({ path: 'apps/x/a.yaml', content: appOf() });
      expect(state.problems()).toEqual([]);
    });

    it('finds the group by the apps of each of its files', () => {
      const state = stateOf({
        'device-groups/g.yaml': 'apps: [a, b]\n',
        'device-groups/x/g.yaml': 'apps: [b]\n',
      });
      expect([...state.groupsListing('a')]).toEqual(['g']);
      state.apply(changesOf({ 'device-groups/g.yaml': null }));
      expect([[...state.groupsListing('a')], [...state.groupsListing('b')]]).toEqual([[], ['g']]);
    });

    it('reads the list of each file only a few times when all files of a group change', () => {
      const count = 200;
      let reads = 0;
      const content = {
        get apps() {
          reads += 1;
          return ['a'];
        },
      };
      const parsed: ParsedFile = { ok: true, content, memberPositions: [] };
      const change = (index: number, blob: string): FileChange => {
        const path = `device-groups/${index}/g.yaml`;
        return { path, file: { path, blob, kind: 'device_group', name: 'g', parsed } };
      };
      const state = new DesiredState();
      for (const blob of ['1', '2'])
        for (let index = 0; index < count; index += 1) state.apply([change(index, blob)]);
      expect([...state.groupsListing('a')]).toEqual(['g']);
      expect(reads).toBeLessThan(20 * count);
    });
  });

  it.each<[string, Files, Files, string[]]>([
    ['a new file', {}, { 'apps/a.yaml': A }, ['app/a']],
    ['a changed file', { 'apps/a.yaml': A }, { 'apps/a.yaml': INVALID }, ['app/a']],
    ['the same file', { 'apps/a.yaml': A }, { 'apps/a.yaml': A }, ['app/a']],
    ['a removed file', { 'apps/a.yaml': A }, { 'apps/a.yaml': null }, ['app/a']],
    ['a moved file', { 'apps/a.yaml': A }, { 'apps/a.yaml': null, 'apps/x/a.yaml': A }, ['app/a']],
    [
      'a file that became another object',
      { 'apps/a.yaml': A },
      { 'apps/a.yaml': null, 'apps/b.yaml': A },
      ['app/a', 'app/b'],
    ],
    ['an unknown path', {}, { 'apps/a.yaml': null }, []],
    ['files that are not objects', {}, { 'notes.txt': 'x', 'apps/a b.yaml': A }, []],
  ])('returns the objects that are touched by %s', (_name, before, change, touched) => {
    expect([...stateOf(before).apply(changesOf(change))].sort()).toEqual(touched);
  });
});

describe('DesiredState after random changes', () => {
  const histories = fc.array(anyCommit, { maxLength: 12 });

  it('equals a state that is built from the files', () => {
    fc.assert(
      fc.property(histories, (commits) => {
        const state = new DesiredState();
        const files: Record<string, string | null> = {};
        for (const commit of commits) {
          state.apply(changesOf(commit));
          Object.assign(files, commit);
          expect(contentsOf(state)).toEqual(contentsOf(stateOf(files)));
        }
      }),
      { numRuns: 500 },
    );
  });

  it('returns every object whose meaning changed as touched', () => {
    fc.assert(
      fc.property(histories, anyCommit, (commits, last) => {
        const state = stateOf(Object.assign({}, ...commits));
        const before = new Map([...state.keys()].map((key) => [key, JSON.stringify(objectAt(state, key))]));
        const touched = state.apply(changesOf(last));
        for (const key of new Set([...before.keys(), ...state.keys()])) {
          if (!touched.has(key)) expect(JSON.stringify(objectAt(state, key))).toBe(before.get(key));
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each(['copy', 'over'] as const)(
    'is not changed by changes in a state from %s, which can be taken back there',
    (make) => {
      fc.assert(
        fc.property(histories, anyCommit, anyCommit, (commits, first, second) => {
          const files: Record<string, string | null> = Object.assign({}, ...commits);
          const state = stateOf(files);
          const expected = contentsOf(state);
          const copy = state[make]();
          copy.apply(changesOf(first));
          const applied = stateOf({ ...files, ...first });
          expect(contentsOf(copy)).toEqual(contentsOf(applied));
          const before = Object.keys(second).map((path) => ({ path, file: copy.file(path) ?? null }));
          copy.apply(changesOf(second));
          copy.apply(before);
          expect(contentsOf(copy)).toEqual(contentsOf(applied));
          expect(contentsOf(state)).toEqual(expected);
        }),
        { numRuns: 500 },
      );
    },
  );
});

function objectAt(state: DesiredState, key: string): unknown {
  const { kind, name } = parseKey(key);
  return [kind === 'app' ? state.app(name) : state.group(name), state.problemsOf(kind, name)];
}
