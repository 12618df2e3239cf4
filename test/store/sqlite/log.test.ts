import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { expect, it } from 'vitest';
import { kindOf, messageOf } from '../../../src/errors.ts';
import type { FlatStore } from '../../support/flat-store.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { AT, app, appStep, CONTEXT, pass } from '../contract/support.ts';
import { openAt } from '../open-sqlite.ts';

/** Enough apps for many pages of the file. */
const APPS = Array.from({ length: 300 }, (_, index) => `app-${index}`);

/** The two files that a manager leaves behind if it is killed now, and the contents of its store. */
interface Moment {
  file: string;
  log: string;
  contents: unknown;
}

/** Reads all tables of the store. */
function contentsOf(path: string): unknown {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").all();
    return tables.map(({ name }) => [name, db.prepare(`SELECT * FROM ${name}`).all()]);
  } finally {
    db.close();
  }
}

/** Writes to a store, with checkpoints in between. Resolves to what is left behind after each write. */
async function momentsOf(folder: string): Promise<Moment[]> {
  const path = join(folder, 'store.sqlite');
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
    moments.push(snapshot(path, join(folder, `moment-${count}`)));
    // The next write starts the log from its beginning. Some logs have one write, others several.
    if (count % 3 !== 0) other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  }
  other.close();
  await store.close();
  return moments;
}

async function write(store: FlatStore, count: number): Promise<void> {
  if (count % 5 === 3) {
    await store.insertReports(
      [{ hostname: 'h', device_group: 'g', report_creation_time: count }],
      AT + count,
    );
    await store.expireReports(AT + count);
  } else await store.restartApp(APPS[(count * 71) % APPS.length] ?? '', CONTEXT);
}

function snapshot(path: string, to: string): Moment {
  copyFileSync(path, `${to}-file`);
  copyFileSync(`${path}-wal`, `${to}-log`);
  return { file: `${to}-file`, log: `${to}-log`, contents: contentsOf(path) };
}

function isEqual(one: string, other: string): boolean {
  return readFileSync(one).equals(readFileSync(other));
}

/** The contents of a store that consists of this file and this log; the kind of error if it is refused. */
async function openPair(path: string, file: string, log: string): Promise<unknown> {
  copyFileSync(file, path);
  copyFileSync(log, `${path}-wal`);
  try {
    const store = await openAt(path);
    const contents = contentsOf(path);
    await store.close();
    return contents;
  } catch (error) {
    expect(isEqual(path, file) && isEqual(`${path}-wal`, log), 'it is unchanged').toBe(true);
    expect(messageOf(error)).toContain('belongs to another file');
    return kindOf(error);
  }
}

it('a store file beside a log of another time is either refused, or opened with the contents of the time of the log', async () => {
  const folder = await temporaryFolder();
  const moments = await momentsOf(folder);
  const outcomes: string[] = [];
  for (const [fileAt, { file }] of moments.entries()) {
    for (const [logAt, { log, contents }] of moments.entries()) {
      const found = await openPair(join(folder, `pair-${fileAt}-${logAt}.sqlite`), file, log);
      if (found !== 'invalid') expect(found, `file ${fileAt}, log ${logAt}`).toEqual(contents);
      if (fileAt === logAt) expect(found).not.toBe('invalid');
      outcomes.push(found === 'invalid' ? 'refused' : 'opened');
    }
  }
  expect(outcomes.filter((outcome) => outcome === 'refused').length).toBeGreaterThan(moments.length);
});

it('a store file beside the log of a store that replaced it is refused', async () => {
  const folder = await temporaryFolder();
  const [lost] = await momentsOf(await temporaryFolder());
  const [rebuilt] = await momentsOf(await temporaryFolder());
  const pair = openPair(join(folder, 'pair.sqlite'), lost?.file ?? '', rebuilt?.log ?? '');
  expect(await pair).toBe('invalid');
});

it('a store whose log was cut off or half written at a loss of power is opened', async () => {
  const folder = await temporaryFolder();
  const path = join(folder, 'store.sqlite');
  const store = await openAt(path);
  const other = new DatabaseSync(path);
  other.exec('PRAGMA wal_checkpoint(PASSIVE)');
  other.close();
  for (let count = 0; count < 3; count++) await store.claimHead(count, `r${count}`, AT);
  const { file, log } = snapshot(path, join(folder, 'moment'));
  await store.close();
  const size = statSync(log).size;
  for (const cut of [0, 1, 31, 32, 40, 55, 56, 57, 60, 4152, 4176, 4180, 8270, size - 4096, size - 3]) {
    const cutLog = `${log}-${cut}`;
    copyFileSync(log, cutLog);
    truncateSync(cutLog, cut);
    expect(await openPair(join(folder, `cut-${cut}.sqlite`), file, cutLog), `${cut}`).not.toBe('invalid');
  }
  // Other content in the place of the second page, which has the position.
  writeFileSync(log, readFileSync(log).fill(0xff, 4176, 8272));
  expect(await openPair(join(folder, 'half.sqlite'), file, log)).not.toBe('invalid');
});
