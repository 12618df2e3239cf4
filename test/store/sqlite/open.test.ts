import { chmod, copyFile, mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { AT, app, appId, appStep, CONTEXT, pass, rejection } from '../contract/support.ts';
import { openAt } from '../open-sqlite.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-open-'));
  path = join(folder, 'store.db');
});
afterEach(() => rm(folder, { recursive: true }));

function runSql(sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

/** Checks that opening fails with this kind and message, names no folder, and changes no file. */
async function expectRefused(kind: string, message: RegExp): Promise<void> {
  const before = await readFile(path);
  const files = await readdir(folder);
  const error = await openAt(path).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(HoldfastError);
  expect(error).toMatchObject({ kind, message: expect.stringMatching(message) });
  expect(`${(error as Error).message} ${JSON.stringify(error)}`).not.toContain(folder);
  expect((await readFile(path)).equals(before)).toBe(true);
  expect(await readdir(folder)).toEqual(files);
}

describe('openSqliteStore', () => {
  it('opens a file whose first transaction was interrupted by a loss of power', async () => {
    runSql('PRAGMA journal_mode = WAL');
    // The header of a rollback journal for a file that had no pages before.
    const journal = Buffer.alloc(512);
    journal.write('d9d505f920a163d7', 'hex');
    journal.writeUInt32BE(512, 20);
    journal.writeUInt32BE(4096, 24);
    await writeFile(`${path}-journal`, journal);
    const store = await openAt(path);
    await store.claimHead(0, 'r1', AT);
    expect(await readdir(folder)).not.toContain('store.db-journal');
    await store.close();
  });

  it('creates files that only their owner can access', async () => {
    const store = await openAt(path);
    await store.claimHead(0, 'r1', AT);
    const files = await readdir(folder);
    expect(files.sort()).toEqual(['store.db', 'store.db-shm', 'store.db-wal']);
    for (const file of files) expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
    await store.close();
  });

  it('opens a copy of the file alone that was made after the store was closed', async () => {
    const store = await openAt(path);
    await pass(store, [appStep('web', app('nginx'))], 'r1');
    await store.close();
    const copy = join(folder, 'copy.db');
    await copyFile(path, copy);
    const other = await openAt(copy);
    expect(await appId(other, 'web')).toBe(1);
    await other.close();
  });

  it('opens an empty file as a new store', async () => {
    await writeFile(path, '');
    const store = await openAt(path);
    expect((await store.state()).sequence).toBe(0);
    await store.close();
  });

  it('refuses a file that is not a database', async () => {
    await writeFile(path, 'apps: [web]\n'.repeat(500));
    await expectRefused('invalid', /not a database/);
  });

  it('refuses the database of another program', async () => {
    runSql('PRAGMA application_id = 7');
    await expectRefused('invalid', /another program/);
    runSql('PRAGMA application_id = 0; CREATE TABLE bookmarks (url TEXT)');
    await expectRefused('invalid', /another program/);
    for (const version of [1, 2]) {
      runSql(`PRAGMA user_version = ${version}; PRAGMA application_id = 7`);
      await expectRefused('invalid', /another program/);
    }
  });

  it('refuses a database that a newer version wrote', async () => {
    await (await openAt(path)).close();
    runSql('PRAGMA user_version = 99');
    await expectRefused('invalid', /newer version of Holdfast \(its schema is 99, this version knows \d+\)/);
  });

  it('refuses a database that a newer version wrote in another journal mode', async () => {
    runSql(
      'PRAGMA journal_mode = DELETE; PRAGMA user_version = 99; PRAGMA application_id = 0x486f6c64; CREATE TABLE x (y)',
    );
    await expectRefused('invalid', /newer version/);
  });

  it('refuses a database of a schema that was never released', async () => {
    await (await openAt(path)).close();
    runSql('PRAGMA user_version = 2; ALTER TABLE objects RENAME TO apps');
    await expectRefused('invalid', /an unreleased version of Holdfast \(its schema is 2\)/);
  });

  it('rejects as unavailable if the file cannot be created or opened', async () => {
    path = join(folder, 'missing', 'store.db');
    await expect(openAt(path)).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'the store cannot be opened; check the owner and permissions of its files',
      details: { code: 'ENOENT' },
    });
    expect(await rejection(openAt(folder))).toBe('unavailable');
  });

  it('rejects as unavailable if the database is damaged', async () => {
    await (await openAt(path)).close();
    const file = await open(path, 'r+');
    await file.write(Buffer.alloc(2000, 0xff), 0, 2000, 100);
    await file.close();
    await expect(openAt(path)).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('damaged'),
      details: { code: 'SQLITE_CORRUPT' },
    });
  });
});

describe('a SQLite store that cannot write', () => {
  beforeEach(async () => {
    const store = await openAt(path);
    await pass(store, [appStep('web', app('nginx'))], 'r1');
    await store.close();
  });

  async function expectReadOnly(): Promise<void> {
    const store = await openAt(path);
    expect(await appId(store, 'web')).toBe(1);
    const restart = store.restartApp('web', CONTEXT);
    await expect(restart).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('the store is read-only; check its file system'),
      details: { code: 'SQLITE_READONLY' },
    });
    expect(await rejection(store.claimHead(1, 'r2', AT))).toBe('unavailable');
    expect((await store.object('app', 'web')).revision).toBe('r1');
    await store.close();
  }

  it('answers reads and rejects writes as unavailable if the file is marked as read-only', async () => {
    // SQLite's file format marks a file as read-only by a byte 18 above 2; this affects root, too.
    const file = await open(path, 'r+');
    await file.write(Buffer.from([3]), 0, 1, 18);
    await file.close();
    await expectReadOnly();
  });

  it.skipIf(process.getuid?.() === 0)(
    'answers reads and rejects writes as unavailable if it has no permission to write',
    async () => {
      await chmod(path, 0o400);
      await expectReadOnly();
    },
  );
});
