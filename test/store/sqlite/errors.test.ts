import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HoldfastError } from '../../../src/errors.ts';
import { storeError } from '../../../src/sqlite/errors.ts';

function failureOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return storeError(error);
  }
  throw new Error('the work did not fail');
}

const FAILURES: [message: string, code: string | undefined, work: () => unknown][] = [
  [
    'has no space left on its disk; make room there',
    'SQLITE_FULL',
    () => {
      const db = new DatabaseSync(':memory:');
      db.exec('PRAGMA max_page_count = 2; CREATE TABLE a (x)');
      db.prepare('INSERT INTO a VALUES (?)').run('x'.repeat(100_000));
    },
  ],
  [
    'rejected a change that violates a constraint',
    'SQLITE_CONSTRAINT',
    () => new DatabaseSync(':memory:').exec('CREATE TABLE a (x NOT NULL); INSERT INTO a VALUES (NULL)'),
  ],
  [
    'cannot be opened; check the owner and permissions of its files',
    'SQLITE_CANTOPEN',
    () => new DatabaseSync('/nowhere/at/all.db'),
  ],
  ['failed', 'SQLITE_ERROR', () => new DatabaseSync(':memory:').exec('SELECT colour')],
  [
    'is damaged; restore a backup, or move it away together with its -wal and -shm files, and it is rebuilt from git',
    'SQLITE_CORRUPT',
    () => {
      const path = join(mkdtempSync(join(tmpdir(), 'holdfast-damaged-')), 'store.sqlite');
      onTestFinished(() => rmSync(dirname(path), { recursive: true }));
      const intact = new DatabaseSync(path);
      intact.exec('PRAGMA page_size = 512; CREATE TABLE a (x); INSERT INTO a VALUES (1)');
      intact.close();
      const bytes = readFileSync(path);
      writeFileSync(path, bytes.fill(0xff, 512));
      const db = new DatabaseSync(path);
      onTestFinished(() => db.close());
      db.prepare('SELECT * FROM a').all();
    },
  ],
  [
    'cannot be read or written: the disk reports an error; check the system log',
    'EIO',
    () => {
      throw Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO', syscall: 'fdatasync' });
    },
  ],
  [
    'is closed',
    undefined,
    () => {
      const db = new DatabaseSync(':memory:');
      db.close();
      db.exec('SELECT 1');
    },
  ],
];

describe('storeError', () => {
  it.each(FAILURES)('reports that the store %s', (message, code, work) => {
    const error = failureOf(work);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ kind: 'unavailable', message: `the store ${message}` });
    expect((error as HoldfastError).details).toEqual(code === undefined ? {} : { code });
  });

  it('keeps SQLite’s error as the cause', () => {
    const error = failureOf(() => new DatabaseSync(':memory:').exec('SELECT colour'));
    expect((error as Error).cause).toMatchObject({ message: 'no such column: colour' });
  });

  it('returns our own errors, errors of JavaScript and other values unchanged', () => {
    const ours = new HoldfastError('conflict', 'claimed');
    const bug = new TypeError('x is not a function');
    expect([storeError(ours), storeError(bug), storeError('text')]).toEqual([ours, bug, 'text']);
  });
});
