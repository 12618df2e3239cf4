import { describe, expect, it } from 'vitest';
import type { Effect } from '../../src/plan/effect.ts';
import { lostGroups, totalsOf } from '../../src/plan/notices.ts';
import { makePlan } from '../../src/plan/plan.ts';
import { appliedOf, type Files, stateOf } from '../support/fleet.ts';

describe('totalsOf', () => {
  it.each<[string, Effect[]]>([
    ['no app starts, restarts or stops on any group', []],
    ['1 app restarts on 1 group', [{ app: 'a', action: 'restart', groups: ['g'] }]],
    [
      '2 apps restart on 3 groups, 1 app starts on 1 group, 1 app stops on 2 groups',
      [
        { app: 'c', action: 'stop', groups: ['g', 'h'] },
        { app: 'a', action: 'restart', groups: ['g', 'h'] },
        { app: 'b', action: 'restart', groups: ['h', 'i'] },
        { app: 'c', action: 'start', groups: ['i'] },
      ],
    ],
  ])('counts each action, and each group once: %s', (expected, effects) => {
    expect(totalsOf(effects)).toBe(expected);
  });
});

const APPS = { 'apps/a.yaml': 'container_image: a\n', 'apps/b.yaml': 'container_image: b\n' };

/** The sentences about the change from one fleet to another; both have the apps a and b. */
function lost(was: Files, now: Files): string[] {
  const [desired, applied] = [stateOf({ ...APPS, ...now }), appliedOf({ ...APPS, ...was })];
  return lostGroups(makePlan([...desired.keys(), ...applied.keys()], desired, applied).steps);
}

const OLD = { 'device-groups/old.yaml': 'apps: [a, b]\n' };

describe('lostGroups', () => {
  it.each<[string, Files, string[]]>([
    ['a deleted group', {}, ['device group old is DELETED: its devices stop all their apps']],
    [
      'a renamed group',
      { 'device-groups/new.yaml': '# the same\napps: [a, b]\n' },
      ['device group old is RENAMED to new: its devices stop all their apps until they are set to new'],
    ],
    [
      'a deleted group beside a new one',
      { 'device-groups/new.yaml': 'apps: [a]\n' },
      ['device group old is DELETED: its devices stop all their apps'],
    ],
    ['no group that only moved or changed', { 'device-groups/x/old.yaml': 'apps: [a]\n' }, []],
  ])('names %s', (_name, now, expected) => {
    expect(lost(OLD, now)).toEqual(expected);
  });

  it('takes no new group for two renamed ones, and no empty group for a renamed one', () => {
    const twins = { ...OLD, 'device-groups/twin.yaml': 'apps: [a, b]\n' };
    const found = lost(twins, { 'device-groups/new.yaml': 'apps: [a, b]\n' });
    expect(found.map((text) => text.split(' ').slice(2, 5).join(' '))).toEqual([
      'old is RENAMED',
      'twin is DELETED:',
    ]);
    const empty = lost(
      { 'device-groups/old.yaml': 'apps: []\n' },
      { 'device-groups/new.yaml': 'apps: []\n' },
    );
    expect(empty).toEqual(['device group old is DELETED: its devices stop all their apps']);
  });
});
