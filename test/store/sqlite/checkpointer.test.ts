import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  Checkpointer,
  type CheckpointerOptions,
  startCheckpointThread,
} from '../../../src/store/sqlite/checkpointer.ts';
import {
  createFile,
  type Database,
  openReader,
  openWithoutLog,
  openWriter,
  prepare,
} from '../../../src/store/sqlite/connection.ts';
import { createFileCheck } from '../../../src/store/sqlite/open-files.ts';
import { temporaryFolder } from '../../support/folder.ts';

/** Pages that a row fills. */
const ROW = 100;

let path: string;
let writer: Database;
/** Every thread that was started. */
let threads: Worker[];

/** Makes a file, and a checkpointer for it. */
async function create(options: Partial<CheckpointerOptions> = {}): Promise<Checkpointer> {
  path = join(await temporaryFolder(), 'store.sqlite');
  createFile(path);
  writer = openWriter(path);
  writer.exec('CREATE TABLE blobs (id INTEGER PRIMARY KEY, content BLOB)');
  threads = [];
  const startThread = (file: string): Worker => {
    const thread = startCheckpointThread(file);
    threads.push(thread);
    return thread;
  };
  const checkFiles = createFileCheck(path);
  const checkpointer = new Checkpointer({
    path,
    writer,
    checkFiles,
    startThread,
    idleTime: 60_000,
    ...options,
  });
  onTestFinished(async () => {
    await checkpointer.close();
    writer.close();
  });
  return checkpointer;
}

/** Writes so many pages, at least, to the log. */
function write(pages: number): void {
  for (let done = 0; done < pages; done += ROW)
    writer.exec(`INSERT INTO blobs (content) VALUES (randomblob(${ROW * 4096}))`);
}

/** The rows in the file itself; null if the file has no table yet. */
function rowsInFile(): number | null {
  const file = openWithoutLog(path);
  try {
    return prepare<{ count: number }>(file, 'SELECT count(*) AS count FROM blobs').get()?.count ?? null;
  } catch {
    return null;
  } finally {
    file.close();
  }
}

describe('a checkpointer', () => {
  it('copies a large log into the file, in its thread', async () => {
    const checkpointer = await create();
    write(4000);
    expect(checkpointer.isDue()).toBe(true);
    await checkpointer.run();
    expect(checkpointer.isDue()).toBe(false);
    expect(rowsInFile()).toBe(40);
    expect(threads).toHaveLength(1);
    const size = statSync(`${path}-wal`).size;
    write(1000);
    expect(statSync(`${path}-wal`).size, 'the log begins anew').toBe(size);
  });

  it('leaves a small log as it is', async () => {
    const checkpointer = await create();
    write(3800);
    expect(checkpointer.isDue()).toBe(false);
    await checkpointer.run();
    expect(rowsInFile()).toBeNull();
    expect(threads).toEqual([]);
  });

  it('uses its thread again', async () => {
    const checkpointer = await create();
    for (const rows of [40, 80]) {
      write(4000);
      await checkpointer.run();
      expect(rowsInFile()).toBe(rows);
    }
    expect(threads).toHaveLength(1);
  });

  it('ends a thread that is idle, and starts another one when it is needed', async () => {
    const checkpointer = await create({ idleTime: 1 });
    write(4000);
    await checkpointer.run();
    await once(threads[0]!, 'exit');
    write(4000);
    await checkpointer.run();
    expect(rowsInFile()).toBe(80);
    expect(threads).toHaveLength(2);
  });

  it.each([
    [
      'cannot start',
      () => {
        throw new Error('no memory');
      },
    ],
    ['ends at its start', () => new Worker('throw new Error("broken")', { eval: true })],
    ['ends without an error at its start', () => new Worker('process.exit(0)', { eval: true })],
    [
      'ends without an error during a checkpoint',
      () => {
        const code = `const { parentPort } = require('node:worker_threads');
          parentPort.on('message', () => process.exit(0));
          parentPort.postMessage('open');`;
        return new Worker(code, { eval: true });
      },
    ],
    [
      'fails during a checkpoint',
      () => {
        const code = `const { parentPort } = require('node:worker_threads');
          parentPort.on('message', () => { throw new Error('broken'); });
          parentPort.postMessage('open');`;
        return new Worker(code, { eval: true });
      },
    ],
  ])('copies the log itself if the thread %s', async (_, startThread) => {
    const checkpointer = await create({ startThread });
    write(4000);
    await checkpointer.run();
    expect(rowsInFile()).toBe(40);
    await checkpointer.close();
    write(4000);
    await checkpointer.run();
    expect(rowsInFile()).toBe(80);
  });

  it('continues after its thread ended while it was idle', async () => {
    const checkpointer = await create();
    write(4000);
    await checkpointer.run();
    await threads[0]!.terminate();
    write(4000);
    await checkpointer.run();
    expect(rowsInFile()).toBe(80);
    expect(threads).toHaveLength(2);
  });

  it('tries again only after the log has grown if a reader of another process is in the way', async () => {
    const checkpointer = await create();
    write(100);
    const reader = openReader(path);
    onTestFinished(() => reader.close());
    reader.exec('BEGIN; SELECT * FROM blobs');
    write(5000);
    await checkpointer.run();
    expect(checkpointer.isDue()).toBe(false);
    write(900);
    expect(checkpointer.isDue()).toBe(false);
    write(200);
    expect(checkpointer.isDue()).toBe(true);
    reader.exec('COMMIT');
    await checkpointer.run();
    expect(rowsInFile()).toBe(62);
  });

  it('is not held up by an earlier log that could not be copied', async () => {
    const checkpointer = await create();
    write(100);
    const reader = openReader(path);
    reader.exec('BEGIN; SELECT * FROM blobs');
    write(5000);
    await checkpointer.run();
    reader.close();
    writer.exec('PRAGMA wal_checkpoint(TRUNCATE)');
    write(4000);
    expect(checkpointer.isDue()).toBe(true);
  });

  it('does not write to a file that has replaced the store', async () => {
    const checkpointer = await create();
    const copy = `${path}.copy`;
    copyFileSync(path, copy);
    const before = readFileSync(copy);
    write(4000);
    renameSync(copy, path);
    await checkpointer.run();
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(threads).toEqual([]);
  });

  it('neither changes a file that replaces the store while the thread starts, nor loses the log', async () => {
    const copies = (): Buffer[] => [path, `${path}-wal`].map((file) => readFileSync(file));
    let replaced: Buffer[] = [];
    const checkpointer = await create({
      startThread: (file) => {
        renameSync(`${file}.copy`, file);
        replaced = copies();
        return startCheckpointThread(file);
      },
    });
    writer.exec('PRAGMA wal_checkpoint(PASSIVE)');
    copyFileSync(path, `${path}.copy`);
    write(4000);
    await checkpointer.run();
    await checkpointer.close();
    expect(copies().map((file, index) => file.equals(replaced[index]!))).toEqual([true, true]);
  });

  it('leaves the locks of the process in place when its thread ends', async () => {
    const checkpointer = await create();
    write(4000);
    await checkpointer.run();
    await checkpointer.close();
    expect(threads.map(({ threadId }) => threadId)).toEqual([-1]);
    // Needs a lock that excludes all other connections.
    const code = `const { DatabaseSync } = require('@photostructure/sqlite');
      new DatabaseSync(process.argv[1], { timeout: 0 }).exec('PRAGMA journal_mode = DELETE');`;
    const other = spawnSync(process.execPath, ['-e', code, path], { encoding: 'utf8' });
    expect(other.stderr).toContain('database is locked');
  });
});
