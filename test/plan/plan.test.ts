import { describe, expect, it } from 'vitest';
import { makePlan } from '../../src/plan/plan.ts';
import { changeTypeOf } from '../../src/plan/step.ts';
import { isAvailable } from '../../src/plan/views.ts';
import { appliedOf, type Files, stateOf, withoutMessage } from '../support/fleet.ts';

const A = { 'apps/a.yaml': 'container_image: a:1\n' };
const A2 = { 'apps/a.yaml': 'container_image: a:2\n' };
const INVALID_A = { 'apps/a.yaml': 'container_image: [\n' };
const B = { 'apps/b.yaml': 'container_image: b:1\n' };
const INVALID_B = { 'apps/b.yaml': 'image: b\n' };
const G = { 'device-groups/g.yaml': 'apps:\n  - a\n' };
const G_B = { 'device-groups/g.yaml': 'apps:\n  - b\n' };
const G_AB = { 'device-groups/g.yaml': 'apps:\n  - a\n  - b\n' };
const G_BA = { 'device-groups/g.yaml': 'apps:\n  - b\n  - a\n' };
const G_NONE = { 'device-groups/g.yaml': 'apps: []\n' };
const INVALID_G = { 'device-groups/g.yaml': 'apps: a\n' };
const H = { 'device-groups/h.yaml': 'apps: [a]\n' };

interface Row {
  name: string;
  /** The files that are applied. */
  was: Files;
  now: Files;
  steps: string[];
  /** Positions of the problems between objects, by the key of the object that has them. */
  problems?: Record<string, string[]>;
}

const rows: Row[] = [
  { name: 'plans nothing for an empty fleet', was: {}, now: {}, steps: [] },
  { name: 'plans nothing for unchanged files', was: { ...A, ...G }, now: { ...A, ...G }, steps: [] },
  { name: 'creates a new app', was: {}, now: A, steps: ['create app a'] },
  { name: 'updates a changed app', was: A, now: A2, steps: ['update app a'] },
  { name: 'deletes an app whose file is gone', was: A, now: {}, steps: ['delete app a'] },
  {
    name: 'plans nothing for a file that moved',
    was: A,
    now: { 'apps/team/a.yml': A['apps/a.yaml'] },
    steps: [],
  },
  {
    name: 'creates apps before the group that lists them',
    was: {},
    now: { ...G_AB, ...A, ...B },
    steps: ['create app a', 'create app b', 'create device_group g'],
  },
  {
    name: 'deletes groups before the apps that they list',
    was: { ...G_AB, ...A, ...B },
    now: {},
    steps: ['delete device_group g', 'delete app a', 'delete app b'],
  },
  {
    name: 'changes apps, then groups, and then deletes groups, then apps',
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
  { name: 'creates a group without apps', was: {}, now: G_NONE, steps: ['create device_group g'] },
  {
    name: 'updates a group that lists its apps in another order',
    was: { ...A, ...B, ...G_AB },
    now: { ...A, ...B, ...G_BA },
    steps: ['update device_group g'],
  },
  {
    name: 'does not update the group of a changed app',
    was: { ...A, ...G },
    now: { ...A2, ...G },
    steps: ['update app a'],
  },

  { name: 'does not create an app whose file is invalid', was: {}, now: INVALID_A, steps: [] },
  { name: 'keeps an app whose file became invalid', was: A, now: INVALID_A, steps: [] },
  {
    name: 'updates a group that lists an app whose file became invalid',
    was: { ...A, ...B, ...G },
    now: { ...INVALID_A, ...B, ...G_AB },
    steps: ['update device_group g'],
  },
  {
    name: 'keeps a group whose file became invalid',
    was: { ...A, ...G },
    now: { ...A, ...INVALID_G },
    steps: [],
  },
  {
    name: 'updates the app of a group whose file became invalid',
    was: { ...A, ...G },
    now: { ...A2, ...INVALID_G },
    steps: ['update app a'],
  },
  {
    name: 'keeps an app that two files define',
    was: A,
    now: { ...A2, 'apps/team/a.yaml': A2['apps/a.yaml'] },
    steps: [],
  },

  {
    name: 'does not create a group that lists an unknown app',
    was: {},
    now: { ...A, ...G_AB },
    steps: ['create app a'],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-unknown'] },
  },
  {
    name: 'reports each unknown app of a list at its own position',
    was: {},
    now: { 'device-groups/g.yaml': 'apps: [x, y]\n' },
    steps: [],
    problems: {
      'device_group/g': ['device-groups/g.yaml:1:8 app-unknown', 'device-groups/g.yaml:1:11 app-unknown'],
    },
  },
  {
    name: 'keeps the last good content of a group that lists an unknown app',
    was: { ...A, ...G },
    now: { ...A, ...G_AB },
    steps: [],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-unknown'] },
  },
  {
    name: 'does not create a group that lists an app which was never valid',
    was: {},
    now: { ...A, ...INVALID_B, ...G_AB },
    steps: ['create app a'],
    problems: { 'device_group/g': ['device-groups/g.yaml:3:5 app-waiting'] },
  },
  {
    name: 'creates a group that waited for an app once that app is valid',
    was: { ...A, ...INVALID_B, ...G_AB },
    now: { ...A, ...B, ...G_AB },
    steps: ['create app b', 'create device_group g'],
    problems: {},
  },

  {
    name: 'keeps a removed app that a valid group lists, and reports the problem at the group',
    was: { ...A, ...G },
    now: G,
    steps: [],
    problems: { 'device_group/g': ['device-groups/g.yaml:2:5 app-unknown'] },
  },
  {
    name: 'deletes an app that is removed from its group in the same commit',
    was: { ...A, ...B, ...G_AB },
    now: { ...B, ...G_B },
    steps: ['update device_group g', 'delete app a'],
  },
  {
    name: 'deletes an app together with its group',
    was: { ...A, ...G },
    now: {},
    steps: ['delete device_group g', 'delete app a'],
  },
  {
    name: 'retains a removed app that an invalid group listed',
    was: { ...A, ...G },
    now: INVALID_G,
    steps: [],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained'] },
  },
  {
    name: 'retains a removed app in the last good list of a group that waits for another app',
    was: { ...A, ...G },
    now: { ...INVALID_B, ...G_B },
    steps: [],
    problems: {
      'app/a': ['device-groups/g.yaml:1:1 app-retained'],
      'device_group/g': ['device-groups/g.yaml:2:5 app-waiting'],
    },
  },
  {
    name: 'retains a removed app that one of two groups still lists',
    was: { ...A, ...G, ...H },
    now: { ...INVALID_G, 'device-groups/h.yaml': 'apps: []\n' },
    steps: ['update device_group h'],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained'] },
  },
  {
    name: 'reports each group that retains a removed app',
    was: { ...A, ...G, ...H },
    now: { ...INVALID_G, 'device-groups/h.yaml': '{' },
    steps: [],
    problems: { 'app/a': ['device-groups/g.yaml:1:1 app-retained', 'device-groups/h.yaml:1:1 app-retained'] },
  },
];

describe('makePlan', () => {
  it.each(rows.map((row) => [row.name, row] as const))('%s', (_, { was, now, steps, problems = {} }) => {
    const desired = stateOf(now);
    const applied = appliedOf(was);
    const plan = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
    expect(plan.steps.map((step) => `${changeTypeOf(step)} ${step.kind} ${step.name}`)).toEqual(steps);
    const found = [...plan.problems].filter(([, list]) => list.length > 0);
    expect(Object.fromEntries(found.map(([key, list]) => [key, list.map(withoutMessage)]))).toEqual(problems);
  });

  it('plans the given objects and those that depend on them, and reports on no others', () => {
    const desired = stateOf({ ...A, ...B, ...G, ...H });
    const plan = makePlan(['app/a'], desired, appliedOf({}));
    expect([...plan.problems.keys()]).toEqual(['app/a', 'device_group/g', 'device_group/h']);
    expect(plan.steps.map(({ name }) => name)).toEqual(['a', 'g', 'h']);
  });

  it('plans the removed apps that a given group listed, but not an app with the name of the group', () => {
    const now = { ...A, 'device-groups/a.yaml': 'apps: [a]\n', ...H };
    const applied = appliedOf({ ...now, ...B, 'device-groups/a.yaml': 'apps: [a, b]\n' });
    const plan = makePlan(['device_group/a'], stateOf(now), applied);
    expect([...plan.problems.keys()]).toEqual(['device_group/a', 'app/b']);
    expect(plan.steps.map((step) => `${changeTypeOf(step)} ${step.name}`)).toEqual(['update a', 'delete b']);
  });

  it('plans nothing for unknown names', () => {
    const plan = makePlan(['app/x', 'device_group/y'], stateOf({}), appliedOf({}));
    expect(plan).toEqual({
      steps: [],
      problems: new Map([
        ['app/x', []],
        ['device_group/y', []],
      ]),
    });
  });

  it('says in each message how to fix the problem', () => {
    const applied = appliedOf({ ...A, 'device-groups/k.yaml': 'apps: [a]\n' });
    const now = { ...INVALID_B, ...G_B, 'device-groups/h.yaml': 'apps: [x]\n', 'device-groups/k.yaml': '{' };
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
  ])('advises what to write instead of the unknown app %s', (name, expected) => {
    const desired = stateOf({ ...A, 'device-groups/g.yaml': `apps: ["${name}"]\n` });
    const { problems } = makePlan(desired.keys(), desired, appliedOf({}));
    expect([...problems.values()].flat().map(({ message }) => message)).toEqual([expected]);
  });

  it('returns each step with the content before and after, and the file that it was read from', () => {
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

  it('reads the apps of a group only once even if many of them are removed', () => {
    const names = Array.from({ length: 400 }, (_, index) => `app-${index}`);
    const filesOf = (kept: readonly string[]): Files => ({
      ...Object.fromEntries(kept.map((name) => [`apps/${name}.yaml`, 'container_image: a\n'])),
      'device-groups/g.yaml': `apps: [${kept.join(', ')}]\n`,
    });
    const applied = appliedOf(filesOf(names));
    const desired = stateOf(filesOf(names.slice(200)));
    let reads = 0;
    const countingView = {
      app: (name: string) => {
        reads += 1;
        return desired.app(name);
      },
      group: (name: string) => desired.group(name),
      groupsListing: (name: string) => desired.groupsListing(name),
      device: (name: string) => desired.device(name),
      devicesIn: (name: string) => desired.devicesIn(name),
    };
    const keys = [...names.slice(0, 200).map((name) => `app/${name}`), 'device_group/g'];
    const { steps, problems } = makePlan(keys, countingView, applied);
    expect(steps).toHaveLength(201);
    expect([...problems.values()].flat()).toEqual([]);
    expect(reads).toBeLessThan(5 * names.length);
  });
});

describe('isAvailable', () => {
  it.each([
    ['is true for an app with a valid file', A, {}, true],
    ['is true for an app with an invalid file that was valid before', INVALID_A, A, true],
    ['is false for an app that was never valid', INVALID_A, {}, false],
    ['is false for an applied app without a file', {}, A, false],
    ['is false for an unknown app', {}, {}, false],
  ])('%s', (_name, now, was, expected) => {
    expect(isAvailable('a', stateOf(now), appliedOf(was))).toBe(expected);
  });
});

describe('the group of a device', () => {
  const D = { 'devices/d.yaml': 'device_group: g\n' };
  const H = { 'device-groups/h.yaml': 'apps: []\n' };
  const rows: { name: string; was: Files; now: Files; steps: string[]; problems: string[] }[] = [
    {
      name: 'comes before the device',
      was: {},
      now: { ...A, ...G, ...D },
      steps: ['app/a', 'device_group/g', 'device/d'],
      problems: [],
    },
    { name: 'has to be there', was: {}, now: D, steps: [], problems: ['devices/d.yaml:1:1 group-unknown'] },
    {
      name: 'stays without its file, with its apps, while a device names it',
      was: { ...A, ...G, ...D },
      now: D,
      steps: [],
      problems: ['devices/d.yaml:1:1 group-unknown'],
    },
    {
      name: 'goes with its last device',
      was: { ...A, ...G, ...D },
      now: H,
      steps: ['device_group/h', 'device/d', 'device_group/g', 'app/a'],
      problems: [],
    },
    {
      name: 'goes when its last device moves',
      was: { ...A, ...G, ...D },
      now: { ...H, 'devices/d.yaml': 'device_group: h\n' },
      steps: ['device_group/h', 'device/d', 'device_group/g', 'app/a'],
      problems: [],
    },
    {
      name: 'stays while its device is to move to a group that is not there',
      was: { ...A, ...G, ...D },
      now: { 'devices/d.yaml': 'device_group: h\n' },
      steps: [],
      problems: ['devices/d.yaml:1:1 group-retained', 'devices/d.yaml:1:1 group-unknown'],
    },
  ];
  it.each(rows)('$name', ({ was, now, steps, problems }) => {
    const [desired, applied] = [stateOf(now), appliedOf(was)];
    const plan = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
    expect(plan.steps.map(({ kind, name }) => `${kind}/${name}`)).toEqual(steps);
    expect([...plan.problems.values()].flat().map(withoutMessage).sort()).toEqual(problems);
  });
});
