import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import type { SectionText } from '../../../src/ids/ids-record.ts';
import { classifySection, mayKnowMore } from '../../../src/ids/record/classify.ts';
import { encodeMeta, META, type SectionMeta } from '../../../src/ids/record/format.ts';
import { Shards } from '../../../src/ids/record/shards.ts';

const FLEETS = ['a'.repeat(32), 'b'.repeat(32)];
const FOLDERS = ['desired-state', 'elsewhere'];
const WEB: CounterRow = { kind: 'app', name: 'web', last: 5, hash: null };

type Meta = Omit<SectionMeta, 'rows' | 'highest'>;

/** A record, one file of which can be damaged. */
async function textOf(meta: Meta, damaged: 'meta.json' | 'rows' | null): Promise<SectionText> {
  const shards = new Shards();
  const rows = await shards.changed(await shards.add([WEB]), new Map());
  const files = new Map([...rows, [META, encodeMeta({ ...meta, ...shards.totals })]]);
  if (damaged !== null) files.set(damaged === 'rows' ? ([...rows.keys()][0] ?? '') : damaged, 'not JSON');
  return { version: 'c'.repeat(40), files };
}

const metas = fc.record({
  fleet: fc.constantFrom(...FLEETS),
  folder: fc.constantFrom(...FOLDERS),
  branch: fc.constantFrom(null, 'refs/heads/main'),
  idSequence: fc.nat({ max: 3 }),
  revision: fc.constant(null),
  tree: fc.constant(null),
});

describe('mayKnowMore', () => {
  it('is true for every record that a store with counters must take over', async () => {
    const damages = fc.constantFrom('meta.json' as const, 'rows' as const, null);
    await fc.assert(
      fc.asyncProperty(metas, damages, fc.nat({ max: 3 }), async (meta, damaged, idSequence) => {
        const text = await textOf(meta, damaged);
        const classified = classifySection(text, 'desired-state', FLEETS[0] ?? '');
        const isNewer = 'section' in classified && classified.section.meta.idSequence > idSequence;
        const counts = classified.kind === 'another' || (classified.kind === 'ours' && isNewer);
        const mayCount = mayKnowMore(text, { fleet: FLEETS[0] ?? '', idSequence });
        expect(mayCount || !counts).toBe(true);
      }),
    );
  });

  it('is false for no record, an up-to-date record of the same fleet, and a commit that is not a record', async () => {
    const meta = {
      fleet: FLEETS[0] ?? '',
      folder: 'desired-state',
      branch: null,
      idSequence: 2,
      revision: null,
      tree: null,
    };
    const state = { fleet: FLEETS[0] ?? '', idSequence: 2 };
    expect(mayKnowMore(await textOf(meta, null), state)).toBe(false);
    expect(mayKnowMore(await textOf({ ...meta, idSequence: 3 }, null), state)).toBe(true);
    expect(mayKnowMore(null, state)).toBe(false);
    expect(mayKnowMore({ version: 'c'.repeat(40), damage: 'it is not a commit of a manager' }, state)).toBe(
      false,
    );
  });
});
