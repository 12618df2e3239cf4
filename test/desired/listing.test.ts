import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Listing } from '../../src/desired/listing.ts';

const APPS = ['a', 'b', 'c'] as const;
const name = fc.constantFrom(...APPS);
const change = fc.tuple(fc.constantFrom('add' as const, 'remove' as const), name, name);

/** What a set of pairs would know. */
class Model {
  readonly pairs = new Set<string>();

  add(app: string, group: string): void {
    this.pairs.add(`${app} ${group}`);
  }

  remove(app: string, group: string): void {
    this.pairs.delete(`${app} ${group}`);
  }
}

describe('a listing', () => {
  it('knows the groups of each app, in whatever order they come and go', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const [listing, model] = [new Listing(), new Model()];
        for (const [does, app, group] of changes) {
          listing[does](app, group);
          model[does](app, group);
        }
        const known = APPS.flatMap((app) => Array.from(listing.of(app), (group) => `${app} ${group}`));
        expect(known.sort()).toEqual([...model.pairs].sort());
      }),
    );
  });
});
