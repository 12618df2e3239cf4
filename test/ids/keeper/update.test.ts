import { describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import type { CounterRow } from '../../../src/ids/id-store.ts';
import { RecordUpdate, type UpdateDependencies } from '../../../src/ids/keeper/update.ts';
import {
  decodeRecord,
  encodeMeta,
  encodeShard,
  highestId,
  META,
  type RecordContent,
  type RecordMeta,
  shardOf,
} from '../../../src/ids/record/format.ts';
import type { Source } from '../../../src/source/source.ts';
import { buildEngine, wrap } from '../../support/engine.ts';

const FILES = { 'apps/web.yaml': 'container_image: web:1\n', 'device-groups/edge.yaml': 'apps: [web]\n' };
const CONTEXT = { actor: 'pat', requestId: 'r', at: 1 };

/** The record; throws if it is missing or damaged. */
async function recorded({ record }: Source): Promise<RecordContent> {
  const version = await record.read();
  if (version === null) throw new Error('there is no record');
  const content = await decodeRecord(version, record.line);
  if (typeof content === 'string') throw new Error(content);
  return content;
}

/** A seeded store, its record, and a function that makes updates of it, each with what was recorded. */
async function setUp() {
  const { store, source, reconciler, repository, commit } = await buildEngine({ files: FILES });
  await reconciler.reconcile();
  const open = (counters: UpdateDependencies['counters'] = store, record = source.record) => {
    const metas: (RecordMeta | null)[] = [];
    const foreign: string[] = [];
    const update = new RecordUpdate({
      record,
      reader: source.reader,
      counters,
      now: () => 1000,
      onForeign: (fleet) => void foreign.push(fleet),
      onRecorded: (meta, { isNew }) => void metas.push(isNew ? meta : null),
    });
    return { update, metas, foreign };
  };
  return { store, source, reconciler, repository, commit, open };
}

it('writes an id sequence that no row exceeds, even if ids rise while it reads them', async () => {
  const { store, source, open } = await setUp();
  let rises = 3;
  const rising = wrap(store, {
    counters: async (since) => {
      const rows = await store.counters(since);
      if (rises > 0) await store.restartApp('web', CONTEXT);
      rises -= 1;
      return rows;
    },
  });
  const { update } = open(rising);
  while (rises > 0) await update.run();
  await update.run();
  const { meta, rows } = await recorded(source);
  expect(meta.idSequence).toBe((await store.state()).idSequence);
  expect(rows.map((row) => JSON.stringify(row)).sort()).toEqual(
    (await store.counters(0))
      .map(({ kind, name, last, hash }) => JSON.stringify({ kind, name, last, hash }))
      .sort(),
  );
  const next = open();
  await next.update.run();
  expect(next.metas).toEqual([null]);
});

it('writes nothing for a store that was not seeded yet', async () => {
  const { store, source } = await buildEngine({ files: FILES });
  const unexpected = (): never => {
    throw new Error('this is not expected');
  };
  const update = new RecordUpdate({
    record: source.record,
    reader: source.reader,
    counters: store,
    now: () => 1000,
    onForeign: unexpected,
    onRecorded: unexpected,
  });
  await update.run();
  expect(await source.record.read()).toBeNull();
});

it('writes the files of what has changed as a child of the version before', async () => {
  const { store, source, repository, open } = await setUp();
  const { update } = open();
  await update.run();
  const first = await source.record.tip();
  await store.restartApp('web', CONTEXT);
  await update.run();
  const changed = await repository.git('log', '-1', '--format=%P', '--name-only', source.record.name);
  expect(changed.split('\n').filter(Boolean)).toEqual([first, shardOf('web'), META]);
});

/** An update of a copy of the store, after it gave so many ids to another app. */
async function updateOfCopy(parts: Awaited<ReturnType<typeof setUp>>, given: number) {
  const { store, open } = parts;
  const [state, counters] = [await store.state(), await store.counters(0)];
  const other: CounterRow = { kind: 'app', name: 'other', last: given, hash: null };
  return open({
    state: async () => ({ ...state, idSequence: state.idSequence + given }),
    counters: async () => [...counters, other],
  });
}

it.each([0, 1, 2])(
  'refuses to replace what a manager on a copy of the store has recorded since, although it gave %i ids itself',
  async (given) => {
    const parts = await setUp();
    const ofCopy = await updateOfCopy(parts, given);
    const { store, source, open } = parts;
    await store.restartApp('web', CONTEXT);
    await open().update.run();
    const before = await source.record.read();
    await expect(ofCopy.update.run()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('another manager is running on a copy'),
    });
    expect(await source.record.read()).toEqual(before);
    ofCopy.update.take(before?.tip ?? null);
    await ofCopy.update.run();
    expect(ofCopy.metas).toHaveLength(1);
  },
);

it('does not take for a copy of the store what another manager of this store writes meanwhile', async () => {
  const { store, source, open } = await setUp();
  const other = open();
  let isFirst = true;
  const interrupted = wrap(store, {
    state: async () => {
      const state = await store.state();
      if (!isFirst) return state;
      isFirst = false;
      await store.restartApp('web', CONTEXT);
      await other.update.run();
      return state;
    },
  });
  await open(interrupted).update.run();
  await other.update.run();
  expect((await recorded(source)).meta.idSequence).toBe((await store.state()).idSequence);
});

it('leaves rows that another process added to the record, until they are taken into account', async () => {
  const { store, source, open } = await setUp();
  await open().update.run();
  const { meta } = await recorded(source);
  const row = { kind: 'app', name: 'stray', last: 7, hash: null } as const;
  const rows = [...(await store.counters(0)), row];
  const tip = await source.record.write({
    files: new Map([
      [shardOf(row.name), encodeShard([row])],
      [META, encodeMeta({ ...meta, rows: rows.length, highest: highestId(rows) })],
    ]),
    base: await source.record.tip(),
    continues: true,
    writer: meta.fleet,
    at: 1000,
  });
  await expect(open().update.run()).rejects.toMatchObject({ kind: 'conflict' });
  expect(await source.record.tip()).toBe(tip);
});

describe('a record that a manager with another store writes', () => {
  const FLEET = 'f'.repeat(32);

  /** The other manager takes over the record, with the same ids. */
  async function takenOver() {
    const parts = await setUp();
    const { store, source, open } = parts;
    const own = open();
    await own.update.run();
    const other = open({
      state: async () => ({ ...(await store.state()), fleet: FLEET }),
      counters: (since) => store.counters(since),
    });
    const taken = await source.record.tip();
    other.update.take(taken);
    await other.update.run();
    return { ...parts, own, other };
  }

  it('is left to it and reported by both, each time that one of them has written', async () => {
    const { store, source, own, other } = await takenOver();
    expect([own.foreign, other.foreign]).toEqual([[], []]);
    await expect(own.update.run()).rejects.toMatchObject({
      kind: 'conflict',
      message: expect.stringContaining('another manager of the same folder'),
    });
    expect(own.foreign).toEqual([FLEET]);
    expect((await recorded(source)).meta.fleet).toBe(FLEET);
    await other.update.run();
    expect(other.foreign).toEqual([(await store.state()).fleet]);
    await expect(own.update.run()).rejects.toMatchObject({ kind: 'conflict' });
    expect(own.foreign).toHaveLength(1);
    await store.restartApp('web', CONTEXT);
    await other.update.run();
    await expect(own.update.run()).rejects.toMatchObject({ kind: 'conflict' });
    expect([own.foreign.length, other.foreign.length]).toEqual([2, 1]);
  });

  it('is reported once, even if the sign that this manager is running cannot be written', async () => {
    const { source, store, open } = await setUp();
    await open().update.run();
    const { meta } = await recorded(source);
    const taken = { files: new Map([[META, encodeMeta({ ...meta, fleet: FLEET })]]), writer: FLEET };
    await source.record.write({ ...taken, base: await source.record.tip(), continues: true, at: 1000 });
    const record = wrap(source.record, {
      write: async () => {
        throw new HoldfastError('unavailable', 'the disk is full');
      },
    });
    const { update, foreign } = open(store, record);
    for (let round = 0; round < 2; round++)
      await expect(update.run()).rejects.toMatchObject({ kind: 'conflict' });
    expect(foreign).toEqual([FLEET]);
  });
});
