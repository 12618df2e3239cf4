import { describe, expect, it } from 'vitest';
import { isAvailable, makePlan } from '../../src/plan/plan.ts';
import { changeTypeOf } from '../../src/plan/step.ts';
import { appliedOf, type Files, placeOf, stateOf } from '../support/fleet.ts';

const A = { 'apps/a.yaml': 'container_image: a:1\n' };
const A2 = { 'apps/a.yaml': 'container_image: a:2\n' };
const BROKEN_A = { 'apps/a.yaml': 'container_image: [\n' };
const B = { 'apps/b.yaml': 'container_image: b:1\n' };
const BROKEN_B = { 'apps/b.yaml': 'image: b\n' };
const G = { 'device-groups/g.yaml': 'apps:\n  - a\n' };
const G_B = { 'device-groups/g.yaml': 'apps:\n  - b\n' };
const G_AB = { 'device-groups/g.yaml': 'apps:\n  - a\n  - b\n' };
const G_BA = { 'device-groups/g.yaml': 'apps:\n  - b\n  - a\n' };
const G_NONE = { 'device-groups/g.yaml': 'apps: []\n' };
const BROKEN_G = { 'device-groups/g.yaml': 'apps: a\n' };
const H = { 'device-groups/h.yaml': 'apps: [a]\n' };

interface Row {
  name: string;
  /** The files whose plan was applied before. */
  was: Files;
  now: Files;
  steps: string[];
  /** Places of the problems between objects, by the key at which they are kept. */
  problems?: Record<string, string[]>;
}

const rows: Row[] = [
  { name: 'nothing to nothing', was: {}, now: {}, steps: [] },
  { name: 'the same files', was: { ...A, ...G }, now: { ...A, ...G }, steps: [] },
  { name: 'a first app', was: {}, now: A, steps: ['create app a'] },
  { name: 'a changed app', was: A, now: A2, steps: ['update app a'] },
  { name: 'an app without its file', was: A, now: {}, steps: ['delete app a'] },
  { name: 'a file that moved', was: A, now: { 'apps/team/a.yml': A['apps/a.yaml'] }, steps: [] },
  {
    name: 'a first fleet: apps come before the group that lists them',
    was: {},
    now: { ...G_AB, ...A, ...B },
    steps: ['create app a', 'create app b', 'create device_group g'],
  },
  {
    name: 'an end of everything: groups go before the apps that they list',
    was: { ...G_AB, ...A, ...B },
    now: {},
    steps: ['delete device_group g', 'delete app a', 'delete app b'],
  },
  {
    name: 'everything at once, in the order of the table',
    was: { ...A, ...G, 'device-groups/old.yaml': 'apps: [a]\n' },
    now: { ...B, ...G_B, 'device-groups/new.yaml': 'apps: []\n' },
    steps: [
      'create app b',
      'update device_group g',
      'create device_group new',
      'delete device_group old',
      'delete app a',
    ],
  },
  { name: 'a group without apps', was: {}, now: G_NONE, steps: ['create device_group g'] },
  {
    name: 'another order of apps is a change of the group',
    was: { ...A, ...B, ...G_AB },
    now: { ...A, ...B, ...G_BA },
    steps: ['update device_group g'],
  },
  {
    name: 'a change of a member leaves its group alone',
    was: { ...A, ...G },
    now: { ...A2, ...G },
    steps: ['update app a'],
  },

  { name: 'quarantine: a broken new app', was: {}, now: BROKEN_A, steps: [] },
  { name: 'quarantine: an applied app that broke stays', was: A, now: BROKEN_A, steps: [] },
  {
    name: 'quarantine: its group is changed all the same',
    was: { ...A, ...B, ...G },
    now: { ...BROKEN_A, ...B, ...G_AB },
    steps: ['update device_group g'],
  },
  { name: 'quarantine: a broken group stays', was: { ...A, ...G }, now: { ...A, ...BROKEN_G }, steps: [] },
  {
    name: 'quarantine: a broken group does not keep its apps back',
    was: { ...A, ...G },
    now: { ...A2, ...BROKEN_G },
    steps: ['update app a'],
  },
  {
    name: 'quarantine: two files of one name',
    was: A,
    now: { ...A2, 'apps/team/a.yaml': A2['apps/a.yaml'] },
    steps: [],
  },

  {
    name: 'unknown: a group that names no app',
    was: {},
    now: { ...A, ...G_AB },
    steps: ['create app a'],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-unknown'] },
  },
  {
    name: 'unknown: each missing name has its own place',
    was: {},
    now: { 'device-groups/g.yaml': 'apps: [x, y]\n' },
    steps: [],
    problems: {
      'device_group/g': ['device-groups/g.yaml:1:8 app-unknown', 'device-groups/g.yaml:1:11 app-unknown'],
    },
  },
  {
    name: 'unknown: the group keeps its last good content',
    was: { ...A, ...G },
    now: { ...A, ...G_AB },
    steps: [],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-unknown'] },
  },
  {
    name: 'waiting: a new group with an app that was never valid',
    was: {},
    now: { ...A, ...BROKEN_B, ...G_AB },
    steps: ['create app a'],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-waiting'] },
  },
  {
    name: 'waiting: over once the app is valid',
    was: { ...A, ...BROKEN_B, ...G_AB },
    now: { ...A, ...B, ...G_AB },
    steps: ['create app b', 'create device_group g'],
    problems: {},
  },

  {
    name: 'removed while a valid group lists it: the app stays, and the group has the problem',
    was: { ...A, ...G },
    now: G,
    steps: [],
    problems: { 'device_group/g': ['device-groups/g.yaml:2:5 app-unknown'] },
  },
  {
    name: 'removed together with its name in the group',
    was: { ...A, ...B, ...G_AB },
    now: { ...B, ...G_B },
    steps: ['update device_group g', 'delete app a'],
  },
  {
    name: 'removed together with the group',
    was: { ...A, ...G },
    now: {},
    steps: ['delete device_group g', 'delete app a'],
  },
  {
    name: 'retained by a broken group',
    was: { ...A, ...G },
    now: BROKEN_G,
    steps: [],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained'] },
  },
  {
    name: 'retained by a group that waits for another app, though its file lists it no longer',
    was: { ...A, ...G },
    now: { ...BROKEN_B, ...G_B },
    steps: [],
    problems: {
      'app/a': ['device-groups/g.yaml:1:1 app-retained'],
      'device_group/g': ['device-groups/g.yaml:2:5 app-waiting'],
    },
  },
  {
    name: 'retained by one group while another one lets go',
    was: { ...A, ...G, ...H },
    now: { ...BROKEN_G, 'device-groups/h.yaml': 'apps: []\n' },
    steps: ['update device_group h'],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained'] },
  },
  {
    name: 'retained by several groups: one problem each',
    was: { ...A, ...G, ...H },
    now: { ...BROKEN_G, 'device-groups/h.yaml': '{' },
    steps: [],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained', 'device-groups/h.yaml:1:1 app-retained'] },
  },
];

describe('makePlan', () => {
  it.each(rows)('$name', ({ was, now, steps, problems = {} }) => {
    const desired = stateOf(now);
    const applied = appliedOf(was);
    const plan = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
    expect(plan.steps.map((step) => `${changeTypeOf(step)} ${step.kind} ${step.name}`)).toEqual(steps);
    const found = [...plan.problems].filter(([, list]) => list.length > 0);
    expect(Object.fromEntries(found.map(([key, list]) => [key, list.map(placeOf)]))).toEqual(problems);
  });

  it('looks at the given objects and at what depends on them, and reports on just these', () => {
    const desired = stateOf({ ...A, ...B, ...G, ...H });
    const plan = makePlan(['app/a'], desired, appliedOf({}));
    expect([...plan.problems.keys()]).toEqual(['app/a', 'device_group/g', 'device_group/h']);
    expect(plan.steps.map(({ name }) => name)).toEqual(['a', 'g', 'h']);
  });

  it('looks at the apps that a group listed and that have no file, and at none that has its name', () => {
    const now = { ...A, 'device-groups/a.yaml': 'apps: [a]\n', ...H };
    const applied = appliedOf({ ...now, ...B, 'device-groups/a.yaml': 'apps: [a, b]\n' });
    const plan = makePlan(['device_group/a'], stateOf(now), applied);
    expect([...plan.problems.keys()]).toEqual(['device_group/a', 'app/b']);
    expect(plan.steps.map((step) => `${changeTypeOf(step)} ${step.name}`)).toEqual(['update a', 'delete b']);
  });

  it('takes a name that was never heard of for nothing', () => {
    const plan = makePlan(['app/x', 'device_group/y'], stateOf({}), appliedOf({}));
    expect(plan).toEqual({
      steps: [],
      problems: new Map([
        ['app/x', []],
        ['device_group/y', []],
      ]),
    });
  });

  it('says what to do', () => {
    const applied = appliedOf({ ...A, 'device-groups/k.yaml': 'apps: [a]\n' });
    const now = { ...BROKEN_B, ...G_B, 'device-groups/h.yaml': 'apps: [x]\n', 'device-groups/k.yaml': '{' };
    const plan = makePlan(
      ['app/a', 'device_group/g', 'device_group/h', 'device_group/k'],
      stateOf(now),
      applied,
    );
    expect([...plan.problems.values()].flat().map(({ message, severity }) => [severity, message])).toEqual([
      [
        'error',
        'app "a" was removed, but the last good state of this group still lists it; fix this file, and the app is deleted',
      ],
      ['error', 'app "b" was never valid; this group waits until apps/b.yaml is fixed'],
      ['error', 'there is no app "x"; add apps/x.yaml, or remove the name from this list'],
    ]);
  });

  it.each<[string, string]>([
    [
      'shop/a',
      'there is no app "shop/a": an app has the name of its file, without folder and extension; write "a"',
    ],
    [
      'a.yaml',
      'there is no app "a.yaml": an app has the name of its file, without folder and extension; write "a"',
    ],
    [
      'shop/b.yml',
      'there is no app "shop/b.yml": an app has the name of its file, without folder and extension; remove it from this list',
    ],
    ['c.yml', 'there is no app "c.yml"; add apps/c.yml.yaml, or remove the name from this list'],
    [
      'a.yml',
      'there is no app "a.yml": an app has the name of its file, without folder and extension; write "a"',
    ],
    ['a.yaml.b', 'there is no app "a.yaml.b"; add apps/a.yaml.b.yaml, or remove the name from this list'],
    ['a b', 'there is no app "a b", and that is not a valid name; remove it from this list'],
    ['b.yaml', 'there is no app "b.yaml"; add apps/b.yaml.yaml, or remove the name from this list'],
  ])('tells what to write instead of %s', (name, expected) => {
    const desired = stateOf({ ...A, 'device-groups/g.yaml': `apps: ["${name}"]\n` });
    const { problems } = makePlan(desired.keys(), desired, appliedOf({}));
    expect([...problems.values()].flat().map(({ message }) => message)).toEqual([expected]);
  });

  it('carries what was before, what comes after, and the file that it is written in', () => {
    const keys = ['app/a', 'app/b', 'device_group/g', 'device_group/h'];
    const { steps } = makePlan(keys, stateOf({ ...A2, ...G }), appliedOf({ ...A, ...B, ...G_AB, ...H }));
    expect(steps).toMatchObject([
      {
        kind: 'app',
        name: 'a',
        before: { container_image: 'a:1' },
        after: { container_image: 'a:2', running: true },
        origin: { path: 'apps/a.yaml', blob: A2['apps/a.yaml'] },
      },
      {
        kind: 'device_group',
        name: 'g',
        before: { apps: ['a', 'b'] },
        after: { apps: ['a'] },
        origin: { path: 'device-groups/g.yaml', blob: G['device-groups/g.yaml'] },
      },
      { kind: 'device_group', name: 'h', before: { apps: ['a'] }, after: null, origin: null },
      { kind: 'app', name: 'b', before: { container_image: 'b:1' }, after: null, origin: null },
    ]);
  });
});

describe('isAvailable', () => {
  it.each([
    ['a valid file', A, {}, true],
    ['a broken file of an app that was valid before', BROKEN_A, A, true],
    ['a broken file of an app that never was valid', BROKEN_A, {}, false],
    ['no file, though the app is still applied', {}, A, false],
    ['nothing', {}, {}, false],
  ])('%s', (_name, now, was, expected) => {
    expect(isAvailable('a', stateOf(now), appliedOf(was))).toBe(expected);
  });
});

it('looks once at the apps of a group that loses many', () => {
  const names = Array.from({ length: 400 }, (_, index) => `app-${index}`);
  const filesOf = (kept: readonly string[]): Files => ({
    ...Object.fromEntries(kept.map((name) => [`apps/${name}.yaml`, 'container_image: a\n'])),
    'device-groups/g.yaml': `apps: [${kept.join(', ')}]\n`,
  });
  const applied = appliedOf(filesOf(names));
  const desired = stateOf(filesOf(names.slice(200)));
  let looks = 0;
  const counting = {
    app: (name: string) => {
      looks += 1;
      return desired.app(name);
    },
    group: (name: string) => desired.group(name),
    groupsListing: (name: string) => desired.groupsListing(name),
  };
  const keys = [...names.slice(0, 200).map((name) => `app/${name}`), 'device_group/g'];
  const { steps, problems } = makePlan(keys, counting, applied);
  expect(steps).toHaveLength(201);
  expect([...problems.values()].flat()).toEqual([]);
  expect(looks).toBeLessThan(5 * names.length);
});
