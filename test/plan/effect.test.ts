import { describe, expect, it } from 'vitest';
import { deviceMoves, type Effect, effectsOf } from '../../src/plan/effect.ts';
import { makePlan } from '../../src/plan/plan.ts';
import { appliedOf, type Files, stateOf } from '../support/fleet.ts';

const ON = 'container_image: i:1\n';
const ON_2 = 'container_image: i:2\n';
const OFF = 'container_image: i:1\nrunning: false\n';
const OFF_2 = 'container_image: i:2\nrunning: false\n';

/** The texts of the apps, and the lists of the groups. */
interface Fleet {
  apps: Record<string, string>;
  groups: Record<string, string[]>;
}

function filesOf({ apps, groups }: Fleet): Files {
  return Object.fromEntries([
    ...Object.entries(apps).map(([name, text]) => [`apps/${name}.yaml`, text]),
    ...Object.entries(groups).map(([name, list]) => [
      `device-groups/${name}.yaml`,
      `apps: [${list.join(', ')}]\n`,
    ]),
  ]);
}

const rows: { name: string; was: Fleet; now: Fleet; effects: Effect[] }[] = [
  {
    name: 'a new fleet starts the apps that are to run',
    was: { apps: {}, groups: {} },
    now: { apps: { a: ON, b: OFF }, groups: { g: ['a', 'b'], h: ['a'] } },
    effects: [{ app: 'a', action: 'start', groups: ['g', 'h'] }],
  },
  {
    name: 'an app that no group lists has no effect',
    was: { apps: { a: ON }, groups: {} },
    now: { apps: { a: ON_2, b: ON }, groups: {} },
    effects: [],
  },
  {
    name: 'a change of a running app restarts it in every group that lists it',
    was: { apps: { a: ON }, groups: { h: ['a'], g: ['a'], i: [] } },
    now: { apps: { a: ON_2 }, groups: { h: ['a'], g: ['a'], i: [] } },
    effects: [{ app: 'a', action: 'restart', groups: ['g', 'h'] }],
  },
  {
    name: 'a change of a stopped app has no effect',
    was: { apps: { a: OFF }, groups: { g: ['a'] } },
    now: { apps: { a: OFF_2 }, groups: { g: ['a'] } },
    effects: [],
  },
  {
    name: 'a change to running: false stops the app',
    was: { apps: { a: ON }, groups: { g: ['a'] } },
    now: { apps: { a: OFF_2 }, groups: { g: ['a'] } },
    effects: [{ app: 'a', action: 'stop', groups: ['g'] }],
  },
  {
    name: 'a change to running: true starts the app',
    was: { apps: { a: OFF }, groups: { g: ['a'] } },
    now: { apps: { a: ON_2 }, groups: { g: ['a'] } },
    effects: [{ app: 'a', action: 'start', groups: ['g'] }],
  },
  {
    name: 'an app starts in a group that it joins and stops in one that it leaves',
    was: { apps: { a: ON, b: ON, c: OFF }, groups: { g: ['a'], h: ['c'] } },
    now: { apps: { a: ON, b: ON, c: OFF }, groups: { g: ['b', 'c'], h: [] } },
    effects: [
      { app: 'b', action: 'start', groups: ['g'] },
      { app: 'a', action: 'stop', groups: ['g'] },
    ],
  },
  {
    name: 'a changed app restarts in groups that keep it, stops in one that it leaves and starts in one that it joins',
    was: { apps: { a: ON }, groups: { g: ['a'], h: ['a'], i: [] } },
    now: { apps: { a: ON_2 }, groups: { g: ['a'], h: [], i: ['a'] } },
    effects: [
      { app: 'a', action: 'restart', groups: ['g'] },
      { app: 'a', action: 'stop', groups: ['h'] },
      { app: 'a', action: 'start', groups: ['i'] },
    ],
  },
  {
    name: 'an app that is stopped in the same commit in which it joins a group has no effect',
    was: { apps: { a: ON }, groups: { g: [] } },
    now: { apps: { a: OFF }, groups: { g: ['a'] } },
    effects: [],
  },
  {
    name: 'an app that is stopped in the same commit in which it leaves a group stops only once',
    was: { apps: { a: ON }, groups: { g: ['a'] } },
    now: { apps: { a: OFF }, groups: { g: [] } },
    effects: [{ app: 'a', action: 'stop', groups: ['g'] }],
  },
  {
    name: 'a deleted app stops in its groups',
    was: { apps: { a: ON, b: ON }, groups: { g: ['a', 'b'] } },
    now: { apps: { b: ON }, groups: { g: ['b'] } },
    effects: [{ app: 'a', action: 'stop', groups: ['g'] }],
  },
  {
    name: 'a deleted group stops its apps',
    was: { apps: { a: ON, b: OFF }, groups: { g: ['a', 'b'] } },
    now: { apps: { a: ON, b: OFF }, groups: {} },
    effects: [{ app: 'a', action: 'stop', groups: ['g'] }],
  },
  {
    name: 'groups are sorted by name, even if one is deleted and the other drops the app',
    was: { apps: { a: ON }, groups: { deleted: ['a'], emptied: ['a'] } },
    now: { apps: { a: ON }, groups: { emptied: [] } },
    effects: [{ app: 'a', action: 'stop', groups: ['deleted', 'emptied'] }],
  },
  {
    name: 'a new order of the apps in a group has no effect',
    was: { apps: { a: ON, b: ON }, groups: { g: ['a', 'b'] } },
    now: { apps: { a: ON, b: ON }, groups: { g: ['b', 'a'] } },
    effects: [],
  },
];

describe('effectsOf', () => {
  it.each(rows.map((row) => [row.name, row] as const))('%s', (_, { was, now, effects }) => {
    const applied = appliedOf(filesOf(was));
    const desired = stateOf(filesOf(now));
    const { steps } = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
    expect(effectsOf(steps, applied)).toEqual(effects);
  });
});

describe('deviceMoves', () => {
  const files = {
    ...filesOf({
      apps: { pos: ON, 'pos-next': ON, both: ON, off: OFF },
      groups: { stores: ['pos', 'both'], canary: ['pos-next', 'both', 'off'], twin: ['pos', 'both'] },
    }),
    'devices/till-1.yaml': 'device_group: stores\n',
  };

  it.each([
    [
      'another group',
      'device_group: canary\n',
      'till-1 moves from stores to canary: starts pos-next, stops pos',
    ],
    [
      'a group with the same apps',
      'device_group: twin\n',
      'till-1 moves from stores to twin: starts and stops nothing',
    ],
    ['other variables', 'device_group: stores\nvariables: {A: b}\n', undefined],
    ['no group', 'variables: {}\n', undefined],
  ])('says what a device does that gets %s, which no group does', (_, text, sentence) => {
    const applied = appliedOf(files);
    const desired = stateOf({ ...files, 'devices/till-1.yaml': text });
    const { steps } = makePlan(desired.keys(), desired, applied);
    expect(steps.map(({ kind, name }) => `${kind}/${name}`)).toEqual(['device/till-1']);
    expect(deviceMoves(steps, applied)).toEqual(sentence === undefined ? [] : [sentence]);
    expect(effectsOf(steps, applied)).toEqual([]);
  });
});
