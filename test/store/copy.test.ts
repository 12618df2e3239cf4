import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import type { Contents } from '../../src/store/contents.ts';
import { type CopyProgress, copyContents } from '../../src/store/copy.ts';
import { sqliteContents } from '../../src/store/sqlite/contents.ts';
import { SqliteTarget } from '../../src/store/sqlite/contents-target.ts';
import type { Store } from '../../src/store/store.ts';
import { wrap } from '../support/engine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { AT, app, appStep, CONTEXT, everything, group, groupStep, pass, seed } from './contract/support.ts';
import { openAt } from './sqlite-place.ts';

const APPS = 1300;

interface Place {
  path: string;
  /** Copies to another file of this folder. `onPut` is called before rows are put, with their number. */
  copy(options?: CopyOptions): Promise<unknown>;
}

interface CopyOptions {
  onPut?: (rows: number) => void;
  from?: (contents: Contents) => Contents;
  tell?: (progress: CopyProgress) => void;
}

/** More apps than a copy takes at once. */
async function fillMuch(store: Store): Promise<void> {
  await pass(
    store,
    Array.from({ length: APPS }, (_, index) => appStep(`app-${index}`, app('v1'))),
  );
  await store.restartApp('app-1', CONTEXT);
}

/** Something of every kind, and of each of its forms. */
async function fillEveryKind(store: Store): Promise<void> {
  await seed(store, {
    seeds: [
      { kind: 'app', name: 'past', last: 7, floor: 1000, hash: 'ab' },
      { kind: 'prune', name: 'past', last: 3, floor: 1000, hash: null },
    ],
    idSequence: 40,
    defaultFloor: 3,
  });
  await pass(store, [
    appStep('web', app('v1')),
    appStep('gone', app('x')),
    groupStep('edge', group('web')),
    groupStep('bare', group(), null),
  ]);
  await pass(store, [appStep('gone', null)], 'r2');
  await store.restartApp('web', CONTEXT);
  await store.pruneAll(CONTEXT);
  await store.markAttempted('r3', AT + 1);
}

async function newPlace(fill: (store: Store) => Promise<unknown> = fillMuch): Promise<Place> {
  const folder = await temporaryFolder();
  const path = join(folder, 'store.sqlite');
  const store = await openAt(path);
  await fill(store);
  await store.close();
  const copy: Place['copy'] = async (options = {}) => {
    const { onPut = () => undefined, from = (contents) => contents, tell = () => undefined } = options;
    const source = sqliteContents(path);
    const target = new SqliteTarget(join(folder, 'copy.sqlite'));
    const counting = wrap(target, {
      putObjects: async (rows) => {
        onPut(rows.length);
        await target.putObjects(rows);
      },
    });
    try {
      return await copyContents(from(source), counting, tell);
    } finally {
      await Promise.all([source.close(), target.close()]);
    }
  };
  return { path, copy };
}

/** Stops before the third page. */
function stopping(): (rows: number) => void {
  let pages = 0;
  return () => {
    pages += 1;
    if (pages === 3) throw new Error('stopped');
  };
}

/** The head of a store, and all of its rows. */
async function contentsOf(path: string): Promise<unknown> {
  const contents = sqliteContents(path);
  const parts = [contents.head(), contents.objects(null, 5000), contents.operations(null, 5000)];
  return Promise.all([...parts, contents.reports(null, 5000)]).finally(() => contents.close());
}

/** The `_id` of what is made later is random in part. */
function withoutOids(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === 'oid' ? undefined : part)));
}

function copyOf({ path }: Place): string {
  return join(path, '../copy.sqlite');
}

async function expectCopied(place: Place): Promise<void> {
  const [ours, theirs] = [await openAt(place.path), await openAt(copyOf(place))];
  expect(await everything(theirs)).toEqual(await everything(ours));
  await Promise.all([ours.close(), theirs.close()]);
}

describe('a copy is equal to its source in everything, and goes on from it:', () => {
  it.each<[string, (store: Store) => Promise<unknown>]>([
    ['something of every kind, without a report', fillEveryKind],
    [
      'nothing but reports',
      (store) => store.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT),
    ],
    ['a store that never followed anything', async () => undefined],
  ])('%s', async (_name, fill) => {
    const place = await newPlace(fill);
    await place.copy();
    expect(await contentsOf(copyOf(place))).toEqual(await contentsOf(place.path));
    const [ours, theirs] = [await openAt(place.path), await openAt(copyOf(place))];
    for (const store of [ours, theirs]) {
      await pass(store, [appStep('new', app('v1')), groupStep('edge', group('new'))], 'r4');
      await store.restartApp('web', CONTEXT);
      await store.pruneAll(CONTEXT);
    }
    await expect(everything(theirs).then(withoutOids)).resolves.toEqual(withoutOids(await everything(ours)));
    await Promise.all([ours.close(), theirs.close()]);
  });

  it('reads pages of any size, each up to its limit', async () => {
    const { path } = await newPlace(fillEveryKind);
    const contents = sqliteContents(path);
    const keys = (await contents.objects(null, 5000)).map(({ key }) => key);
    expect(keys).toEqual([
      'app/gone',
      'app/past',
      'app/web',
      'device_group/bare',
      'device_group/edge',
      'device_group/past',
    ]);
    const all = [null, ...keys];
    for (const [index, after] of all.entries()) {
      for (const limit of [1, 2, 4]) {
        const page = await contents.objects(after, limit);
        expect(page.map(({ key }) => key)).toEqual(keys.slice(index, index + limit));
      }
    }
    await contents.close();
  });

  it('gives new reports ids above those that were copied, though the source did not give these itself', async () => {
    const place = await newPlace(fillEveryKind);
    const late = 'a'.repeat(24);
    const report = { hostname: 'h', device_group: 'g', report_creation_time: 1, updated: true };
    const from = (contents: Contents): Contents =>
      wrap(contents, {
        reports: async (after) =>
          after === null ? [{ oid: late, arrived: AT, body: JSON.stringify(report) }] : [],
      });
    await place.copy({ from });
    const store = await openAt(copyOf(place));
    await store.insertReports([report], AT);
    const { value } = await store.reports({ pageSize: 10 });
    expect(value.data.filter(({ oid }) => oid > late)).toHaveLength(1);
    expect(value.data).toHaveLength(2);
    await store.close();
  });
});

it('what was begun from one fleet is not gone on with from another', async () => {
  const [place, other] = [await newPlace(), await newPlace(fillEveryKind)];
  await expect(place.copy({ onPut: stopping() })).rejects.toThrow('stopped');
  const theirs = sqliteContents(other.path);
  await expect(place.copy({ from: () => theirs })).rejects.toMatchObject({ kind: 'invalid' });
  await theirs.close();
  await place.copy();
  await expectCopied(place);
});

describe('a copy that was stopped', () => {
  it('goes on after the last row, and says what was there', async () => {
    const place = await newPlace();
    await expect(place.copy({ onPut: stopping() })).rejects.toThrow('stopped');
    const [put, told]: [number[], CopyProgress[]] = [[], []];
    const copied = await place.copy({ onPut: (rows) => put.push(rows), tell: (step) => told.push(step) });
    expect(put).toEqual([300]);
    expect(told.slice(0, 2)).toEqual([
      { part: 'objects', rows: 1000, alreadyCopied: 1000, isCheck: false },
      { part: 'objects', rows: APPS, alreadyCopied: 1000, isCheck: false },
    ]);
    expect(copied).toMatchObject({
      objects: { rows: APPS, alreadyCopied: 1000 },
      operations: { rows: 1, alreadyCopied: 0 },
    });
    await expectCopied(place);
  });

  it('begins anew where the source was changed since: nothing stays of what was copied', async () => {
    const place = await newPlace();
    await expect(place.copy({ onPut: stopping() })).rejects.toThrow('stopped');
    const store = await openAt(place.path);
    await pass(store, [appStep('app-0', app('v2'))], 'r2');
    await store.close();
    const put: number[] = [];
    await place.copy({ onPut: (rows) => put.push(rows) });
    expect(put).toEqual([500, 500, 300]);
    await expectCopied(place);
  });

  it('is filled anew where it is not equal in the end, although the source says that it is the same', async () => {
    const place = await newPlace();
    const before = await openAt(place.path);
    await before.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT);
    await before.close();
    const failing = place.copy({
      tell: ({ isCheck }) => {
        if (isCheck) throw new Error('stopped');
      },
    });
    await expect(failing).rejects.toThrow('stopped');
    const store = await openAt(place.path);
    await store.expireReports(AT + 1);
    await store.close();
    const put: number[] = [];
    const copied = await place.copy({ onPut: (rows) => put.push(rows) });
    expect(put).toEqual([500, 500, 300]);
    expect(copied).toMatchObject({ objects: { alreadyCopied: 0 }, reports: { rows: 0 } });
    await expectCopied(place);
  });
});

it('a copy that is not equal the second time either is refused', async () => {
  const place = await newPlace();
  let reads = 0;
  const from = (contents: Contents): Contents =>
    wrap(contents, {
      operations: async (after, limit) => {
        reads += 1;
        const rows = await contents.operations(after, limit);
        return rows.map((row) => ({ ...row, at: reads }));
      },
    });
  await expect(place.copy({ from })).rejects.toMatchObject({ kind: 'conflict' });
  await expect(place.copy({ from })).rejects.toThrow(/copy of the operations differs/);
});

it('reads no source that a newer version wrote', async () => {
  const { path } = await newPlace(() => Promise.resolve());
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 99');
  db.close();
  expect(() => sqliteContents(path)).toThrow(/newer version of Holdfast/);
});

it('goes on with no copy that a newer version began', async () => {
  const place = await newPlace();
  await expect(place.copy({ onPut: stopping() })).rejects.toThrow('stopped');
  const db = new DatabaseSync(`${copyOf(place)}.copy`);
  db.exec('PRAGMA user_version = 99');
  db.close();
  await expect(place.copy()).rejects.toThrow(/unfinished copy by another version of Holdfast; delete it/);
});
