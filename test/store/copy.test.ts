import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Contents } from '../../src/store/contents.ts';
import { type CopyProgress, copyContents } from '../../src/store/copy.ts';
import { sqliteContents } from '../../src/store/sqlite/contents.ts';
import { SqliteTarget } from '../../src/store/sqlite/contents-target.ts';
import { wrap } from '../support/engine.ts';
import { temporaryFolder } from '../support/folder.ts';
import { AT, app, appStep, CONTEXT, everything, pass } from './contract/support.ts';
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

async function newPlace(): Promise<Place> {
  const folder = await temporaryFolder();
  const path = join(folder, 'store.sqlite');
  const store = await openAt(path);
  await pass(
    store,
    Array.from({ length: APPS }, (_, index) => appStep(`app-${index}`, app('v1'))),
  );
  await store.restartApp('app-1', CONTEXT);
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

async function expectCopied({ path }: Place): Promise<void> {
  const [ours, theirs] = [await openAt(path), await openAt(join(path, '../copy.sqlite'))];
  expect(await everything(theirs)).toEqual(await everything(ours));
  await Promise.all([ours.close(), theirs.close()]);
}

describe('a copy that was stopped', () => {
  it('goes on after the last row, and says what was there', async () => {
    const place = await newPlace();
    await expect(place.copy({ onPut: stopping() })).rejects.toThrow('stopped');
    const [put, told]: [number[], CopyProgress[]] = [[], []];
    const copied = await place.copy({ onPut: (rows) => put.push(rows), tell: (step) => told.push(step) });
    expect(put).toEqual([300]);
    expect(told.slice(0, 2)).toEqual([
      { part: 'objects', rows: 1000, there: 1000, isCheck: false },
      { part: 'objects', rows: APPS, there: 1000, isCheck: false },
    ]);
    expect(copied).toMatchObject({ objects: { rows: APPS, there: 1000 }, operations: { rows: 1, there: 0 } });
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
    expect(copied).toMatchObject({ objects: { there: 0 }, reports: { rows: 0 } });
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
  await expect(place.copy({ from })).rejects.toThrow(/operations is not equal/);
});
