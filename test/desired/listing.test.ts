import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Listing } from '../../src/desired/listing.ts';

const name = fc.constantFrom('a', 'b', 'c');
const change = fc.record({ adds: fc.boolean(), app: name, group: name });

describe('a listing', () => {
  it('knows the groups of each app, in whatever order they come and go', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 30 }), (changes) => {
        const listing = new Listing();
        const model = new Map(['a', 'b', 'c'].map((app) => [app, new Set<string>()]));
        for (const { adds, app, group } of changes) {
          if (adds) listing.add(app, group);
          else listing.remove(app, group);
          model.get(app)?.[adds ? 'add' : 'delete'](group);
        }
        for (const [app, groups] of model) expect([...listing.of(app)].sort()).toEqual([...groups].sort());
      }),
    );
  });
});
