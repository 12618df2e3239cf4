import { expect, it } from 'vitest';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import type { SectionText } from '../../../src/ids/ids-record.ts';
import {
  decodeSection,
  encodeMeta,
  encodeShard,
  highestId,
  META,
  type SectionMeta,
  shardOf,
} from '../../../src/ids/record/format.ts';
import { RecordWriter } from '../../../src/ids/record/record-writer.ts';
import type { Source } from '../../../src/source/source.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const CONTEXT = { actor: 'pat', requestId: 'r', at: 1 };

/** The names in the record; throws if it is missing or damaged. */
async function recordedNames({ record }: Source): Promise<string[]> {
  const text = await record.read();
  if (text === null || 'damage' in text) throw new Error('there is no record');
  const content = decodeSection(text.files);
  if (typeof content === 'string') throw new Error(content);
  return content.rows.map(({ name }) => name).sort();
}

it('writes an id sequence that matches its rows even if ids rise while it reads them', async () => {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  let rises = 3;
  const rising = wrap(store, {
    counters: async (since) => {
      if (rises > 0) await store.restartApp('web', CONTEXT);
      rises -= 1;
      return store.counters(since);
    },
  });
  const writer = new RecordWriter({
    record: source.record,
    store: rising,
    reader: source.reader,
    now: () => 1000,
  });
  const { meta, hasWritten } = await writer.update();
  expect(rises).toBeLessThanOrEqual(0);
  expect([meta?.idSequence, hasWritten]).toEqual([(await store.state()).idSequence, true]);
  // Nothing is left to write, so the rows were the newest ones.
  expect((await writer.update()).hasWritten).toBe(false);
  const fresh = new RecordWriter({ record: source.record, store, reader: source.reader, now: () => 2000 });
  expect((await fresh.update()).hasWritten).toBe(false);
});

it('writes nothing for a store that was not seeded yet', async () => {
  const { store, source } = await buildEngine({ files: FILES });
  const writer = new RecordWriter({ record: source.record, store, reader: source.reader, now: () => 1000 });
  expect(await writer.update()).toEqual({
    meta: null,
    hasWritten: false,
    replaced: null,
    localOnlyReason: null,
  });
  expect(await source.record.read()).toBeNull();
});

/** A copy of the store as it is now, and a writer for it and one for the store. */
async function copiedStore() {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  const [state, counters] = [await store.state(), await store.counters(0)];
  const parts = { record: source.record, reader: source.reader, now: () => 1000 };
  /** A writer of the copy, after it gave so many ids to another app. */
  const writerOfCopy = (given: number): RecordWriter => {
    const other: CounterRow = { kind: 'app', name: 'other', last: given, hash: null };
    const copy = {
      state: async () => ({ ...state, idSequence: state.idSequence + given }),
      counters: async () => [...counters, other],
    };
    return new RecordWriter({ ...parts, store: copy });
  };
  return { store, source, writer: new RecordWriter({ ...parts, store }), writerOfCopy };
}

it.each([0, 1, 2])(
  'refuses to replace what a manager on a copy of the store has recorded since, although it gave %i ids itself',
  async (given) => {
    const { store, source, writer, writerOfCopy } = await copiedStore();
    await store.restartApp('web', CONTEXT);
    await writer.update();
    const recorded = await source.record.read();
    const ofCopy = writerOfCopy(given);
    await expect(ofCopy.update()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('another manager is running on a copy'),
    });
    expect(await source.record.read()).toEqual(recorded);
    ofCopy.allowReplacing(recorded?.version ?? '');
    expect((await ofCopy.update()).hasWritten).toBe(true);
  },
);

it('does not take for a copy of the store what another manager of this store writes meanwhile', async () => {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  const parts = { record: source.record, reader: source.reader, now: () => 1000 };
  const other = new RecordWriter({ ...parts, store });
  let isFirst = true;
  const interrupted = wrap(store, {
    state: async () => {
      const state = await store.state();
      if (!isFirst) return state;
      isFirst = false;
      await store.restartApp('web', CONTEXT);
      await other.update();
      return state;
    },
  });
  await new RecordWriter({ ...parts, store: interrupted }).update();
  expect(await other.update()).toMatchObject({ hasWritten: false });
});

it('leaves rows that another process added to the record, until they are taken into account', async () => {
  const { store, source, reconciler } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  const parts = { record: source.record, store, reader: source.reader, now: () => 1000 };
  const { meta } = await new RecordWriter(parts).update();
  const { version } = (await source.record.read()) as SectionText;
  const row = { kind: 'app', name: 'stray', last: 7, hash: null } as const;
  const rows = [...(await store.counters(0)), row];
  await source.record.write({
    files: new Map([
      [shardOf(row.name), encodeShard([row])],
      [META, encodeMeta({ ...(meta as SectionMeta), rows: rows.length, highest: highestId(rows) })],
    ]),
    expected: version,
    keepsOtherFiles: true,
    at: 1000,
  });
  const writer = new RecordWriter(parts);
  await expect(writer.update()).rejects.toMatchObject({ kind: 'conflict' });
  expect(await recordedNames(source)).toContain('stray');
  writer.allowReplacing((await source.record.read())?.version ?? '');
  expect((await writer.update()).hasWritten).toBe(true);
  expect(await recordedNames(source)).toEqual((await store.counters(0)).map(({ name }) => name).sort());
});
