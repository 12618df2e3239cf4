import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Holders } from '../../src/desired/holders.ts';

const APPS = ['a', 'b', 'c'] as const;
const name = fc.constantFrom(...APPS);
const change = fc.tuple(fc.constantFrom('add' as const, 'remove' as const), name, name);

/** The same groups as a set of pairs. */
class Model {
  readonly pairs = new Set<string>();

  add(app: string, group: string): void {
    this.pairs.add(`${app} ${group}`);
  }

  remove(app: string, group: string): void {
    this.pairs.delete(`${app} ${group}`);
  }
}

describe('Holders', () => {
  it('has the groups of each app after any additions and removals', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const [groups, model] = [new Holders(), new Model()];
        for (const [does, app, group] of changes) {
          groups[does](app, group);
          model[does](app, group);
        }
        const pairs = APPS.flatMap((app) => Array.from(groups.of(app), (group) => `${app} ${group}`));
        expect(pairs.sort()).toEqual([...model.pairs].sort());
      }),
    );
  });

  it.each(['copy', 'over'] as const)(
    'removes many groups of one app in %s, and leaves the original as it is',
    (make) => {
      const names = Array.from({ length: 100_000 }, (_, index) => `group-${index}`);
      const groups = new Holders();
      for (const group of names) groups.add('web', group);
      const copy = groups[make]();
      for (const group of names) copy.remove('web', group);
      expect([[...copy.of('web')].length, [...groups.of('web')].length]).toEqual([0, names.length]);
      copy.add('web', 'late');
      expect([...copy.of('web')]).toEqual(['late']);
    },
  );
});
