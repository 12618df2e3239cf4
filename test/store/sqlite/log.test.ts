import { copyFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, it } from 'vitest';
import { kindOf } from '../../../src/errors.ts';
import { sqliteContents } from '../../../src/store/sqlite/contents.ts';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { AT, app, appStep, CONTEXT, pass } from '../contract/support.ts';
import { openAt } from '../sqlite-place.ts';

/** Enough that they lie on many pages. */
const APPS = Array.from({ length: 300 }, (_, index) => `app-${index}`);

/** What a killed manager leaves behind, and what its store held then. */
interface Moment {
  file: string;
  log: string;
  held: unknown;
}

async function everything(path: string): Promise<unknown> {
  const contents = sqliteContents(path);
  const parts = [contents.head(), contents.objects(null, 1000), contents.operations(null, 1000)];
  return Promise.all([...parts, contents.reports(null, 1000)]).finally(() => contents.close());
}

/** A life with checkpoints in it, and what it would have left behind after each write. */
async function live(folder: string): Promise<Moment[]> {
  const path = join(folder, 'life.sqlite');
  const store = await openAt(path);
  const other = new DatabaseSync(path);
  const moments: Moment[] = [];
  other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  await pass(
    store,
    APPS.map((name) => appStep(name, app('nginx:1'))),
    'r0',
  );
  for (let count = 0; count < 9; count++) {
    await write(store, count);
    moments.push(await snapshot(path, join(folder, `moment-${count}`)));
    // The next write begins the log anew.
    if (count % 3 === 1) other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }
  other.close();
  await store.close();
  return moments;
}

async function write(store: Store, count: number): Promise<void> {
  if (count % 5 === 3) {
    await store.insertReports(
      [{ hostname: 'h', device_group: 'g', report_creation_time: count }],
      AT + count,
    );
    await store.expireReports(AT + count);
  } else await store.restartApp(APPS[(count * 71) % APPS.length] ?? '', CONTEXT);
}

async function snapshot(path: string, to: string): Promise<Moment> {
  copyFileSync(path, `${to}-file`);
  copyFileSync(`${path}-wal`, `${to}-log`);
  return { file: `${to}-file`, log: `${to}-log`, held: await everything(path) };
}

function isEqual(one: string, other: string): boolean {
  return readFileSync(one).equals(readFileSync(other));
}

/** What a store holds that is made of a file and a log; the kind of error where it is refused. */
async function openPair(path: string, file: string, log: string): Promise<unknown> {
  copyFileSync(file, path);
  copyFileSync(log, `${path}-wal`);
  try {
    const store = await openAt(path);
    return await everything(path).finally(() => store.close());
  } catch (error) {
    expect(isEqual(path, file) && isEqual(`${path}-wal`, log), 'it was left as it was').toBe(true);
    expect(() => sqliteContents(path)).toThrow('belongs to another file');
    return kindOf(error);
  }
}

it('makes no mixture of a file and the log of another time: it is refused, or the file begins where the log does', async () => {
  const folder = await temporaryFolder();
  const moments = await live(folder);
  const outcomes: string[] = [];
  for (const [fileAt, { file }] of moments.entries()) {
    for (const [logAt, { log, held }] of moments.entries()) {
      const found = await openPair(join(folder, `pair-${fileAt}-${logAt}.sqlite`), file, log);
      if (found !== 'invalid') expect(found, `file ${fileAt}, log ${logAt}`).toEqual(held);
      if (fileAt === logAt) expect(found).not.toBe('invalid');
      outcomes.push(found === 'invalid' ? 'refused' : 'whole');
    }
  }
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBeGreaterThan(moments.length);
});
