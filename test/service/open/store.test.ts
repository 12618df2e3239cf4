import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../../support/manager.ts';

describe('a start with a damaged store', () => {
  it.each([
    ['damage in the first page', 100, /^the store is damaged/],
    ['damage in the header', 0, /is not a database/],
  ])('is refused as invalid, which a supervisor does not retry: %s', async (_, at, message) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const file = await open(join(manager.dataFolder, 'store.sqlite'), 'r+');
    await file.write(Buffer.alloc(2000, 0xff), 0, 2000, at);
    await file.close();
    await expect(manager.restart()).rejects.toMatchObject({
      kind: 'invalid',
      message: expect.stringMatching(message),
    });
  });
});

const EMPTY_FOLDER = 'set DATA_DIR to an empty folder (containers restart once)';
const REBUILD =
  'restore a backup, or move it away together with its -wal and -shm files, and it is rebuilt from git';

describe('a start with a store that this version must not use', () => {
  it.each([
    ['a store of a newer version', 'PRAGMA user_version = 99', `run that version, or ${EMPTY_FOLDER}`],
    ['a store of an unreleased version', 'PRAGMA user_version = 2', EMPTY_FOLDER],
    ['a database of another program', 'PRAGMA application_id = 7', 'set DATA_DIR to another folder'],
    ['a file that is not a database', null, REBUILD],
  ])('is refused with the one remedy: %s', async (_, change, remedy) => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.stop();
    const path = join(manager.dataFolder, 'store.sqlite');
    if (change === null) await writeFile(path, 'a text that is not a database'.repeat(99));
    else {
      const db = new DatabaseSync(path);
      db.exec(change);
      db.close();
    }
    const error: Error = await manager.restart().then(
      () => expect.fail(),
      (reason) => reason,
    );
    expect(error).toMatchObject({ kind: 'invalid' });
    expect(error.message.split('; ').slice(1)).toEqual([`${remedy} (${path})`]);
  });
});
