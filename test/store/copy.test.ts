import { copyFile, stat, truncate } from 'node:fs/promises';
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
import { openAt } from './open-sqlite.ts';

const APPS = 1300;

/** A store that is not open, and a copy of it in the same folder. */
interface Source {
  path: string;
  copyPath: string;
  copy(options?: CopyOptions): Promise<unknown>;
}

interface CopyOptions {
  /** Called before each page of objects is written, with the number of its rows. */
  onPut?: (rows: number) => void;
  /** Replaces what is read from the source. */
  from?: (contents: Contents) => Contents;
  onProgress?: (progress: CopyProgress) => void;
}

/** More apps than a copy reads at a time. */
async function fillManyApps(store: Store): Promise<void> {
  await pass(
    store,
    Array.from({ length: APPS }, (_, index) => appStep(`app-${index}`, app('v1'))),
  );
  await store.restartApp('app-1', CONTEXT);
}

/** Objects, counters and operations of every kind and form. */
async function fillEveryKind(store: Store): Promise<void> {
  await seed(store, {
    seeds: [
      { kind: 'app', name: 'seeded', last: 7, floor: 1000, hash: 'ab' },
      { kind: 'prune', name: 'seeded', last: 3, floor: 1000, hash: null },
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

async function newSource(fill: (store: Store) => Promise<unknown> = fillManyApps): Promise<Source> {
  const folder = await temporaryFolder();
  const path = join(folder, 'store.sqlite');
  const store = await openAt(path);
  await fill(store);
  await store.close();
  const copyPath = join(folder, 'copy.sqlite');
  const copy: Source['copy'] = async (options = {}) => {
    const { onPut = () => undefined, from = (contents) => contents, onProgress = () => undefined } = options;
    const contents = sqliteContents(path);
    const target = new SqliteTarget(copyPath);
    const counting = wrap(target, {
      putObjects: async (rows) => {
        onPut(rows.length);
        await target.putObjects(rows);
      },
    });
    try {
      return await copyContents(from(contents), counting, onProgress);
    } finally {
      await Promise.all([contents.close(), target.close()]);
    }
  };
  return { path, copyPath, copy };
}

/** An `onPut` that interrupts the copy before the third page. */
function interruptThirdPage(): (rows: number) => void {
  let pages = 0;
  return () => {
    pages += 1;
    if (pages === 3) throw new Error('interrupted');
  };
}

/** An `onProgress` that interrupts the copy in its final comparison. */
function interruptCheck({ isCheck }: CopyProgress): void {
  if (isCheck) throw new Error('interrupted');
}

/** The head of a store, and all of its rows. */
async function contentsOf(path: string): Promise<unknown> {
  const contents = sqliteContents(path);
  const parts = [contents.state(), contents.objects(null, 5000), contents.operations(null, 5000)];
  return Promise.all([...parts, contents.reports(null, 5000)]).finally(() => contents.close());
}

function tablesIn(path: string): unknown[] {
  const db = new DatabaseSync(path);
  const tables = db.prepare('SELECT name FROM sqlite_schema').all();
  db.close();
  return tables;
}

/** Removes every `_id`: those of objects that are created later are partly random. */
function withoutOids(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === 'oid' ? undefined : part)));
}

/** Checks that the copy, opened as a store, is equal to its source. */
async function expectCopied(source: Source): Promise<void> {
  const [original, duplicate] = [await openAt(source.path), await openAt(source.copyPath)];
  expect(await everything(duplicate)).toEqual(await everything(original));
  await Promise.all([original.close(), duplicate.close()]);
}

describe('a copy of a store', () => {
  it.each<[string, (store: Store) => Promise<unknown>]>([
    ['objects and operations of every kind, but no reports', fillEveryKind],
    [
      'only reports',
      (store) => store.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT),
    ],
    ['nothing', async () => undefined],
  ])('is equal to its source, also after the same later writes: a source with %s', async (_name, fill) => {
    const source = await newSource(fill);
    await source.copy();
    expect(await contentsOf(source.copyPath)).toEqual(await contentsOf(source.path));
    expect(tablesIn(source.copyPath)).toEqual(tablesIn(source.path));
    expect((await stat(source.copyPath)).mode & 0o777).toBe(0o600);
    const [original, duplicate] = [await openAt(source.path), await openAt(source.copyPath)];
    for (const store of [original, duplicate]) {
      await pass(store, [appStep('new', app('v1')), groupStep('edge', group('new'))], 'r4');
      await store.restartApp('web', CONTEXT);
      await store.pruneAll(CONTEXT);
    }
    await expect(everything(duplicate).then(withoutOids)).resolves.toEqual(
      withoutOids(await everything(original)),
    );
    await Promise.all([original.close(), duplicate.close()]);
  });

  it('gives a new report an _id above those of copied reports, even if the source never assigned these', async () => {
    const source = await newSource(fillEveryKind);
    const [low, high] = ['9'.repeat(24), 'a'.repeat(24)];
    const report = { hostname: 'h', device_group: 'g', report_creation_time: 1, updated: true };
    const from = (contents: Contents): Contents =>
      wrap(contents, {
        reports: async (after) =>
          after === null
            ? [low, high].map((oid) => ({ oid, arrived: AT, body: JSON.stringify(report) }))
            : [],
      });
    await source.copy({ from });
    const store = await openAt(source.copyPath);
    await store.insertReports([report], AT);
    const { value } = await store.reports({ pageSize: 10 });
    expect(value.data.filter(({ oid }) => oid > high)).toHaveLength(1);
    expect(value.data).toHaveLength(3);
    await store.close();
  });
});

it('a source returns pages of any size, each up to its limit', async () => {
  const { path } = await newSource(fillEveryKind);
  const contents = sqliteContents(path);
  const keys = (await contents.objects(null, 5000)).map(({ key }) => key);
  expect(keys).toEqual([
    'app/gone',
    'app/seeded',
    'app/web',
    'device_group/bare',
    'device_group/edge',
    'device_group/seeded',
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

describe('an interrupted copy', () => {
  it('is not continued with another fleet as its source', async () => {
    const [source, other] = [await newSource(), await newSource(fillEveryKind)];
    await expect(source.copy({ onPut: interruptThirdPage() })).rejects.toThrow('interrupted');
    const otherContents = sqliteContents(other.path);
    await expect(source.copy({ from: () => otherContents })).rejects.toMatchObject({ kind: 'invalid' });
    await otherContents.close();
    await source.copy();
    await expectCopied(source);
  });

  it('continues after the last copied row, and reports how many rows it already had', async () => {
    const source = await newSource();
    await expect(source.copy({ onPut: interruptThirdPage() })).rejects.toThrow('interrupted');
    const put: number[] = [];
    const progress: CopyProgress[] = [];
    const copied = await source.copy({
      onPut: (rows) => put.push(rows),
      onProgress: (step) => progress.push(step),
    });
    expect(put).toEqual([300]);
    expect(progress.slice(0, 2)).toEqual([
      { part: 'objects', rows: 1000, alreadyCopied: 1000, isCheck: false },
      { part: 'objects', rows: APPS, alreadyCopied: 1000, isCheck: false },
    ]);
    expect(copied).toMatchObject({
      objects: { rows: APPS, alreadyCopied: 1000 },
      operations: { rows: 1, alreadyCopied: 0 },
    });
    await expectCopied(source);
  });

  it('starts again from the first row if the source has changed since', async () => {
    const source = await newSource();
    await expect(source.copy({ onPut: interruptThirdPage() })).rejects.toThrow('interrupted');
    const store = await openAt(source.path);
    await pass(store, [appStep('app-0', app('v2'))], 'r2');
    await store.close();
    const put: number[] = [];
    await source.copy({ onPut: (rows) => put.push(rows) });
    expect(put).toEqual([500, 500, 300]);
    await expectCopied(source);
  });

  it('starts again without what the source no longer has after an old backup of it was restored', async () => {
    const report = { hostname: 'h', device_group: 'g', report_creation_time: 1 };
    const source = await newSource(async (filled) => {
      await fillEveryKind(filled);
      await filled.insertReports([report, report], AT);
    });
    await copyFile(source.path, `${source.path}.backup`);
    const store = await openAt(source.path);
    await pass(store, [appStep('newest', app('v1'))], 'r3');
    await store.restartApp('newest', CONTEXT);
    await store.close();
    await expect(source.copy({ onProgress: interruptCheck })).rejects.toThrow('interrupted');
    await copyFile(`${source.path}.backup`, source.path);
    await expect(source.copy({ onProgress: interruptCheck })).rejects.toThrow('interrupted');
    const copied = await source.copy();
    expect(copied).toMatchObject({
      objects: { alreadyCopied: 6 },
      operations: { alreadyCopied: 2 },
      reports: { alreadyCopied: 2 },
    });
    await expectCopied(source);
  });

  it('starts again from the first row if the final comparison finds that a report of the source has expired', async () => {
    const source = await newSource();
    const before = await openAt(source.path);
    await before.insertReports([{ hostname: 'h', device_group: 'g', report_creation_time: 1 }], AT);
    await before.close();
    await expect(source.copy({ onProgress: interruptCheck })).rejects.toThrow('interrupted');
    const store = await openAt(source.path);
    await store.expireReports(AT + 1);
    await store.close();
    const put: number[] = [];
    const copied = await source.copy({ onPut: (rows) => put.push(rows) });
    expect(put).toEqual([500, 500, 300]);
    expect(copied).toMatchObject({ objects: { alreadyCopied: 0 }, reports: { rows: 0 } });
    await expectCopied(source);
  });
});

it('a copy that differs from its source twice is refused', async () => {
  const source = await newSource();
  let reads = 0;
  const from = (contents: Contents): Contents =>
    wrap(contents, {
      operations: async (after, limit) => {
        reads += 1;
        const rows = await contents.operations(after, limit);
        return rows.map((row) => ({ ...row, at: reads }));
      },
    });
  await expect(source.copy({ from })).rejects.toMatchObject({ kind: 'conflict' });
  await expect(source.copy({ from })).rejects.toThrow(/copy of the operations differs/);
});

it.each(['-wal', '-journal'])(
  'a copy is refused beside the log of another store (%s), which would change it, but not beside an empty one',
  async (suffix) => {
    const source = await newSource(fillEveryKind);
    const other = await openAt(`${source.path}.other`);
    await pass(other, [appStep('web', app('other'))]);
    await copyFile(`${source.path}.other-wal`, `${source.copyPath}${suffix}`);
    await other.close();
    await expect(source.copy()).rejects.toMatchObject({
      kind: 'invalid',
      message: `the target contains the log of another store (copy.sqlite${suffix}); delete it first`,
    });
    await truncate(`${source.copyPath}${suffix}`);
    await source.copy();
    await expectCopied(source);
  },
);

it('a source that a newer version wrote is refused', async () => {
  const { path } = await newSource(() => Promise.resolve());
  const db = new DatabaseSync(path);
  db.exec('PRAGMA user_version = 99');
  db.close();
  expect(() => sqliteContents(path)).toThrow(/newer version of Holdfast/);
});

it('an interrupted copy by a newer version is not continued', async () => {
  const source = await newSource();
  await expect(source.copy({ onPut: interruptThirdPage() })).rejects.toThrow('interrupted');
  const db = new DatabaseSync(`${source.copyPath}.copy`);
  db.exec('PRAGMA user_version = 99');
  db.close();
  await expect(source.copy()).rejects.toThrow(/unfinished copy by another version of Holdfast; delete it/);
});
