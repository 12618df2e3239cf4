import { describe, expect, it } from 'vitest';
import { draftEntries } from '../../../src/store/history/mongo-writes.ts';
import { newFleetRoot } from '../../../src/store/root/documents.ts';
import { ALL, change, entry, STATE } from '../contract/entries.ts';
import { calmDocuments, ModelDatabase } from './model.ts';
import { openInNewDatabase, SERVER } from './test-database.ts';

const FIELDS = ['container_image', 'env_vars', 'starting_ports', 'volumes', 'networks', 'running'];
const CHANGES = Array.from({ length: 100_000 }, (_, index) => change(`app/app-${index}`, ...FIELDS));
const LAST = 'app-99999';
const BATCH = {
  expected: null,
  next: { ...STATE, newest: 2 },
  entries: [entry(1, { changes: CHANGES }), entry(2)],
  supersedes: false,
};

/** The most bytes of a document in MongoDB. */
const DOCUMENT_BYTES = 16 * 1024 * 1024;

describe('An entry with 100,000 changes', () => {
  it('has no document that is too large', async () => {
    const { changes } = await draftEntries(calmDocuments(new ModelDatabase()), newFleetRoot('f'), BATCH);
    const sizes = changes.map(({ document }) => JSON.stringify(document).length);
    expect(Math.max(...sizes)).toBeLessThan(DOCUMENT_BYTES / 10);
  });

  it.skipIf(SERVER.isMissing)(
    'is found by all of its objects, their fields and names',
    SERVER.limits,
    async () => {
      const opened = await openInNewDatabase();
      try {
        expect(await opened.store.addEntries(BATCH)).toBe(true);
        const found = async (query: Partial<typeof ALL>): Promise<unknown> => {
          const { entries, total } = await opened.store.entries({ ...ALL, ...query }, null, 10);
          return { ns: entries.map(({ n }) => n), total };
        };
        const only = { ns: [1], total: 1 };
        expect(await found({ keys: [[`object:app/${LAST}`]] })).toEqual(only);
        expect(await found({ keys: [[`object:app/${LAST} field:running`], ['actor:ana']] })).toEqual(only);
        expect(await found({ keys: [['object:app/app-0']] })).toEqual(only);
        expect(await found({ text: LAST.toUpperCase() })).toEqual(only);
        expect(await found({ keys: [[`object:app/${LAST}`], ['actor:eve']] })).toEqual({ ns: [], total: 0 });
        expect(await found({ keys: [['actor:ana']] })).toEqual({ ns: [2, 1], total: 2 });
        expect((await opened.store.entry(1))?.changes).toEqual(CHANGES);
      } finally {
        await opened.cleanup();
      }
    },
  );
});
