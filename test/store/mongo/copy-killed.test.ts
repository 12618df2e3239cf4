import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { PROJECT, startProcess, type TestProcess } from '../../support/project.ts';
import { AT, app, appStep, CONTEXT, everything, pass } from '../contract/support.ts';
import { openAt } from '../sqlite-place.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER, withClient } from './place.ts';

/** Reports in the source: ten pages, of which some are copied before the end comes. */
const REPORTS = 5000;
const ENOUGH = 1500;

let folder: string;
let database: string;
let proxy: MongoProxy;

/** The program, as an operator runs it. */
function copyTo(to: string, env: Record<string, string> = {}): TestProcess {
  return startProcess(process.execPath, [join(PROJECT, 'dist/main.js'), 'store', 'copy', '--to', to], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATA_DIR: folder, MONGODB_DATABASE: database, ...env },
  });
}

/** Kills it when enough reports are there; resolves to how many there are when nothing is under way any more. */
async function killInTheMiddle({ child, ended }: TestProcess, count: () => Promise<number>): Promise<number> {
  while ((await count()) < ENOUGH) await sleep(20);
  child.kill('SIGKILL');
  await ended;
  let there = -1;
  for (let now = await count(); now !== there; now = await count()) {
    there = now;
    await sleep(500);
  }
  return there;
}

async function fill(store: Store): Promise<void> {
  await pass(
    store,
    Array.from({ length: 600 }, (_, index) => appStep(`app-${index}`, app('v1'))),
  );
  await store.restartApp('app-7', CONTEXT);
  const report = (index: number) => ({ hostname: 'h', device_group: 'g', report_creation_time: index });
  await store.insertReports(
    Array.from({ length: REPORTS }, (_, index) => report(index)),
    AT,
  );
}

function reportsInDatabase(): Promise<number> {
  return withClient((client) => client.db(database).collection('nebula_reports').countDocuments());
}

/** Runs SQL on the unfinished copy, or on what it became; undefined where it cannot be asked now. */
function ask<Row>(file: string, sql: string): Row | undefined {
  try {
    const db = new DatabaseSync(file, { timeout: 1000 });
    try {
      return db.prepare(sql).get() as Row | undefined;
    } finally {
      db.close();
    }
  } catch {
    return undefined;
  }
}

async function reportsIn(file: string): Promise<number> {
  return ask<{ rows: number }>(file, 'SELECT count(*) AS rows FROM reports')?.rows ?? 0;
}

describe.skipIf(SERVER.isMissing)('store copy, killed in the middle', SERVER.limits, () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    database = newDatabase();
    proxy = await MongoProxy.start(SERVER.uri);
    proxy.judge(() => 'delay');
  });
  afterEach(async () => {
    await proxy.stop();
    await dropDatabase(database);
  });

  it('goes on from the embedded store to MongoDB, and writes no row again', async () => {
    const source = await openAt(join(folder, 'store.sqlite'));
    await fill(source);
    const before = await everything(source);
    await source.close();
    const there = await killInTheMiddle(copyTo(proxy.uri), reportsInDatabase);
    expect(there).toBeLessThan(REPORTS);
    const updates: number[] = [];
    proxy.judge((command, count) => {
      if (command === 'update') updates.push(count);
      return 'pass';
    });
    const again = copyTo(proxy.uri);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toBe(
      `copied and checked: 600 objects (600 were there already), 1 operations (1 were there already), ` +
        `${REPORTS} reports (${there} were there already)\n`,
    );
    // The two heads and the end of the copy besides the pages that were missing.
    expect(updates).toHaveLength(Math.ceil((REPORTS - there) / 500) + 3);
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(before);
    await copy.close();
  });

  it('goes on from MongoDB to the embedded store, and writes no row again', async () => {
    const source = await openDatabase(database);
    await fill(source);
    const before = await everything(source);
    await source.close();
    const [env, file] = [{ MONGODB_URI: proxy.uri }, join(folder, 'back', 'store.sqlite')];
    const there = await killInTheMiddle(copyTo(join(folder, 'back'), env), () => reportsIn(`${file}.copy`));
    expect(there).toBeLessThan(REPORTS);
    const work = new DatabaseSync(`${file}.copy`);
    work.exec('CREATE TABLE written (part TEXT)');
    for (const part of ['apps', 'operations', 'reports'])
      work.exec(
        `CREATE TRIGGER count_${part} AFTER INSERT ON ${part} BEGIN INSERT INTO written VALUES ('${part}'); END`,
      );
    work.close();
    proxy.judge(() => 'pass');
    const again = copyTo(join(folder, 'back'), env);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toContain(`${REPORTS} reports (${there} were there already)`);
    const written = ask<{ rows: number; parts: string }>(
      file,
      'SELECT count(*) AS rows, max(part) || min(part) AS parts FROM written',
    );
    expect(written).toEqual({ rows: REPORTS - there, parts: 'reportsreports' });
    const copy = await openAt(file);
    expect(await everything(copy)).toEqual(before);
    await copy.close();
  });
});
