import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AppliedState } from '../../src/plan/applied.ts';
import type { Step } from '../../src/plan/step.ts';
import { appOf } from '../support/fleet.ts';

const names = ['a', 'b', 'c'];
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constantFrom(...names), fc.option(fc.constantFrom('i:1', 'i:2'))).map(([name, image]): Step => {
    const after = image === null ? null : appOf({ container_image: image });
    return { kind: 'app', name, before: null, after, origin: null };
  }),
  fc.tuple(fc.constantFrom(...names), fc.option(fc.shuffledSubarray(names))).map(([name, apps]): Step => {
    const after = apps === null ? null : { apps };
    return { kind: 'device_group', name, before: null, after, origin: null };
  }),
);

describe('AppliedState', () => {
  it('is empty at first', () => {
    const applied = new AppliedState();
    expect([applied.isEmpty, applied.keys(), applied.app('a'), applied.group('g')]).toEqual([
      true,
      [],
      undefined,
      undefined,
    ]);
    expect([...applied.groupsListing('a')]).toEqual([]);
  });

  it('is not empty with only an app, or only a group', () => {
    const [apps, groups] = [new AppliedState(), new AppliedState()];
    apps.set('app', 'a', appOf());
    groups.set('device_group', 'g', { apps: [] });
    expect([apps.isEmpty, groups.isEmpty]).toEqual([false, false]);
  });

  it('distinguishes an app and a group with the same name', () => {
    const applied = new AppliedState();
    applied.set('app', 'x', appOf());
    applied.set('device_group', 'x', { apps: ['x'] });
    expect(applied.keys()).toEqual(['app/x', 'device_group/x']);
    applied.set('app', 'x', null);
    expect(applied.keys()).toEqual(['device_group/x']);
    expect([...applied.groupsListing('x')]).toEqual(['x']);
  });

  it('has the content of the last step of each object after any steps', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { maxLength: 20 }), (steps) => {
        const applied = new AppliedState();
        applied.applySteps(steps);
        const last = new Map(steps.map((step) => [`${step.kind}/${step.name}`, step.after]));
        const left = [...last].filter(([, after]) => after !== null);
        expect(applied.keys().sort()).toEqual(left.map(([key]) => key).sort());
        expect(applied.isEmpty).toBe(left.length === 0);
        for (const name of names) {
          expect(applied.app(name)).toEqual(last.get(`app/${name}`) ?? undefined);
          expect(applied.group(name)).toEqual(last.get(`device_group/${name}`) ?? undefined);
          const listing = names.filter((group) => applied.group(group)?.apps.includes(name));
          expect([...applied.groupsListing(name)].sort()).toEqual(listing);
        }
      }),
    );
  });
});
