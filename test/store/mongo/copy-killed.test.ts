import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/store/store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { MongoProxy } from '../../support/mongo-proxy.ts';
import { PROJECT, startProcess, type TestProcess } from '../../support/project.ts';
import { AT, app, appStep, CONTEXT, everything, pass } from '../contract/support.ts';
import { openAt } from '../open-sqlite.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER, withClient } from './test-database.ts';

/** Reports in the source, which a copy writes in four pages. */
const REPORTS = 2000;
/** Reports that are copied before the copy is killed. */
const COPIED = 1000;
/** The number of the `insert` that writes the second page, after those of the schema, the objects and the operations. */
const SECOND_PAGE = 5;

let folder: string;
let database: string;
let proxy: MongoProxy;

/** Runs the built program as an operator does. */
function copyTo(to: string, env: Record<string, string> = {}): TestProcess {
  return startProcess(process.execPath, [join(PROJECT, 'dist/main.js'), 'store', 'copy', '--to', to], {
    cwd: folder,
    env: { PATH: process.env['PATH'], DATA_DIR: folder, MONGODB_DATABASE: database, ...env },
  });
}

/**
 * Kills a copy once `isReached` resolves to true; resolves to the number of reports in the target when no more are added.
 */
async function killWhen(
  isReached: () => Promise<boolean>,
  { child, ended }: TestProcess,
  count: () => Promise<number>,
): Promise<number> {
  while (!(await isReached())) await sleep(20);
  child.kill('SIGKILL');
  await ended;
  let copied = -1;
  for (let now = await count(); now !== copied; now = await count()) {
    copied = now;
    await sleep(500);
  }
  return copied;
}

/** Fills a store with apps, one operation and the reports. */
async function fill(store: Store): Promise<void> {
  await pass(
    store,
    Array.from({ length: 40 }, (_, index) => appStep(`app-${index}`, app('v1'))),
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

/** Runs SQL on a file of a store; undefined if the file is missing or busy. */
function query<Row>(file: string, sql: string): Row | undefined {
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
  return query<{ rows: number }>(file, 'SELECT count(*) AS rows FROM reports')?.rows ?? 0;
}

describe.skipIf(SERVER.isMissing)('store copy that was killed', SERVER.limits, () => {
  beforeEach(async () => {
    folder = await temporaryFolder();
    database = newDatabase();
    proxy = await MongoProxy.start(SERVER.uri);
  });
  afterEach(async () => {
    await proxy.stop();
    await dropDatabase(database);
  });

  it('continues from SQLite to MongoDB, and writes no row twice', async () => {
    const source = await openAt(join(folder, 'store.sqlite'));
    await fill(source);
    const before = await everything(source);
    await source.close();
    let isReached = false;
    proxy.judge((command, count) => {
      isReached ||= command === 'insert' && count === SECOND_PAGE;
      return isReached ? 'hang' : 'pass';
    });
    const copied = await killWhen(async () => isReached, copyTo(proxy.uri), reportsInDatabase);
    expect(copied).toBe(COPIED);
    const commands: string[] = [];
    proxy.judge((command) => {
      commands.push(command);
      return 'pass';
    });
    const again = copyTo(proxy.uri);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toBe(
      `copied and verified: 40 objects (40 already copied), 1 operations (1 already copied), ` +
        `${REPORTS} reports (${copied} already copied)\n`,
    );
    const inserts = commands.filter((command) => command === 'insert');
    // The first one is of the schema.
    expect(inserts).toHaveLength(1 + Math.ceil((REPORTS - copied) / 500));
    const copy = await openDatabase(database);
    expect(await everything(copy)).toEqual(before);
    await copy.close();
  });

  it('continues from MongoDB to SQLite, and writes no row twice', async () => {
    const source = await openDatabase(database);
    await fill(source);
    const before = await everything(source);
    await source.close();
    const [env, file] = [{ MONGODB_URI: proxy.uri }, join(folder, 'back', 'store.sqlite')];
    const count = (): Promise<number> => reportsIn(`${file}.copy`);
    proxy.judge(() => 'delay');
    const isEnough = async (): Promise<boolean> => (await count()) >= COPIED;
    const copied = await killWhen(isEnough, copyTo(join(folder, 'back'), env), count);
    expect(copied).toBeLessThan(REPORTS);
    const unfinished = new DatabaseSync(`${file}.copy`);
    unfinished.exec('CREATE TABLE written (part TEXT)');
    for (const part of ['objects', 'operations', 'reports'])
      unfinished.exec(
        `CREATE TRIGGER count_${part} AFTER INSERT ON ${part} BEGIN INSERT INTO written VALUES ('${part}'); END`,
      );
    unfinished.close();
    proxy.judge(() => 'pass');
    const again = copyTo(join(folder, 'back'), env);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toContain(`${REPORTS} reports (${copied} already copied)`);
    const written = query<{ rows: number; parts: string }>(
      file,
      'SELECT count(*) AS rows, max(part) || min(part) AS parts FROM written',
    );
    expect(written).toEqual({ rows: REPORTS - copied, parts: 'reportsreports' });
    const copy = await openAt(file);
    expect(await everything(copy)).toEqual(before);
    await copy.close();
  });
});
