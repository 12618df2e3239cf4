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

/** Reports in the source: four pages, of which some are copied before the end comes. */
const REPORTS = 2000;
const ENOUGH = 1000;
/** The command that brings the second page of them: after those of the schema, the objects and the operations. */
const SECOND_PAGE = 5;

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

/** Kills it once `isThere`; resolves to how many reports there are when nothing is under way any more. */
async function killWhen(
  isThere: () => Promise<boolean>,
  { child, ended }: TestProcess,
  count: () => Promise<number>,
): Promise<number> {
  while (!(await isThere())) await sleep(20);
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
    let isThere = false;
    proxy.judge((command, count) => {
      isThere ||= command === 'insert' && count === SECOND_PAGE;
      return isThere ? 'hang' : 'pass';
    });
    const there = await killWhen(async () => isThere, copyTo(proxy.uri), reportsInDatabase);
    expect(there).toBe(ENOUGH);
    const commands: string[] = [];
    proxy.judge((command) => {
      commands.push(command);
      return 'pass';
    });
    const again = copyTo(proxy.uri);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toBe(
      `copied and verified: 40 objects (40 already copied), 1 operations (1 already copied), ` +
        `${REPORTS} reports (${there} already copied)\n`,
    );
    const inserts = commands.filter((command) => command === 'insert');
    // That of the schema finds that the copy has begun.
    expect(inserts).toHaveLength(1 + Math.ceil((REPORTS - there) / 500));
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
    const count = (): Promise<number> => reportsIn(`${file}.copy`);
    proxy.judge(() => 'delay');
    const isEnough = async (): Promise<boolean> => (await count()) >= ENOUGH;
    const there = await killWhen(isEnough, copyTo(join(folder, 'back'), env), count);
    expect(there).toBeLessThan(REPORTS);
    const work = new DatabaseSync(`${file}.copy`);
    work.exec('CREATE TABLE written (part TEXT)');
    for (const part of ['objects', 'operations', 'reports'])
      work.exec(
        `CREATE TRIGGER count_${part} AFTER INSERT ON ${part} BEGIN INSERT INTO written VALUES ('${part}'); END`,
      );
    work.close();
    proxy.judge(() => 'pass');
    const again = copyTo(join(folder, 'back'), env);
    expect(await again.ended, again.output()).toBe(0);
    expect(again.stdout()).toContain(`${REPORTS} reports (${there} already copied)`);
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
