import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecordContents } from '../../../src/reconcile/record/contents.ts';
import type { RecordMeta } from '../../../src/reconcile/record/format.ts';
import { mayKnowMore, standingOf } from '../../../src/reconcile/record/standing.ts';
import type { RecordText } from '../../../src/source/source.ts';
import type { CounterRow } from '../../../src/store/store.ts';

const FLEETS = ['a'.repeat(32), 'b'.repeat(32)];
const PLACES = ['desired-state', 'elsewhere'];
const WEB: CounterRow = { kind: 'app', name: 'web', last: 5, hash: null };

/** A record as it is written, or with one file as nobody writes it. */
async function textOf(meta: RecordMeta, damaged: 'meta.json' | 'rows' | null): Promise<RecordText> {
  const contents = new RecordContents();
  const rows = await contents.changed(await contents.take([WEB]), new Map());
  const files = new Map([...rows, contents.meta(meta)]);
  if (damaged !== null) files.set(damaged === 'rows' ? ([...rows.keys()][0] ?? '') : damaged, 'not JSON');
  return { version: 'c'.repeat(40), files };
}

const metas = fc.record({
  fleet: fc.constantFrom(...FLEETS),
  place: fc.constantFrom(...PLACES),
  branch: fc.constantFrom(null, 'refs/heads/main'),
  idSequence: fc.nat({ max: 3 }),
  revision: fc.constant(null),
  folder: fc.constant(null),
});

describe('a look at what a record says of itself', () => {
  it('never spares a record that a store with counters has to go by', async () => {
    const damages = fc.constantFrom('meta.json' as const, 'rows' as const, null);
    await fc.assert(
      fc.asyncProperty(metas, damages, fc.nat({ max: 3 }), async (meta, damaged, idSequence) => {
        const text = await textOf(meta, damaged);
        const standing = standingOf(text, 'desired-state', FLEETS[0] ?? '');
        const isNewer = 'record' in standing && standing.record.meta.idSequence > idSequence;
        const counts = standing.kind === 'another' || (standing.kind === 'ours' && isNewer);
        const mayCount = mayKnowMore(text, { fleet: FLEETS[0] ?? '', idSequence });
        expect(mayCount || !counts).toBe(true);
      }),
    );
  });

  it('spares the rows of its own record, up to date, and of none', async () => {
    const meta = {
      fleet: FLEETS[0] ?? '',
      place: 'desired-state',
      branch: null,
      idSequence: 2,
      revision: null,
      folder: null,
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
