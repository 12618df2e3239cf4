import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { changeTypeOf, orderSteps, type Step } from '../../src/plan/step.ts';
import { appOf } from '../support/fleet.ts';

const app = appOf();
const origin = { path: 'p', blob: 'b' };

function appStep(name: string, isDelete = false): Step {
  return { kind: 'app', name, before: isDelete ? app : null, after: isDelete ? null : app, origin };
}

function groupStep(name: string, isDelete = false): Step {
  const group = { apps: [] };
  return {
    kind: 'device_group',
    name,
    before: isDelete ? group : null,
    after: isDelete ? null : group,
    origin,
  };
}

describe('changeTypeOf', () => {
  it.each<[string, Partial<Step>]>([
    ['create', { before: null, after: app }],
    ['update', { before: app, after: appOf({ running: false }) }],
    ['delete', { before: app, after: null }],
  ])('returns %s', (operation, sides) => {
    expect(changeTypeOf({ ...appStep('a'), ...sides } as Step)).toBe(operation);
  });
});

describe('orderSteps', () => {
  const ordered = [
    appStep('A'),
    appStep('a'),
    appStep('b'),
    groupStep('a'),
    groupStep('z'),
    groupStep('b', true),
    appStep('a0', true),
    appStep('z', true),
  ];

  it('changes apps before groups, deletes groups before apps, and sorts each kind by name', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(ordered, { minLength: ordered.length }), (steps) => {
        expect(orderSteps(steps)).toEqual(ordered);
      }),
    );
  });

  it('does not change its argument', () => {
    const steps = Object.freeze([groupStep('g'), appStep('a')]);
    expect(orderSteps(steps)).toEqual([steps[1], steps[0]]);
  });
});
