import { accessSync, constants, existsSync } from 'node:fs';
import { basename } from 'node:path';
import type { AppDefaults } from '../../desired/app.ts';
import { HoldfastError } from '../../errors.ts';
import { closeOnFailure, createFile, enlargeCache, openReader, openWriter, rollBack } from './connection.ts';
import { storeError } from './errors.ts';
import { checkLog } from './log.ts';
import { checkHeader, MIGRATIONS, migrate } from './migrations.ts';
import { watchFiles } from './open-files.ts';
import { SqliteStore } from './store.ts';
import { readsOn, writesOn } from './tables.ts';

export interface SqliteStoreOptions {
  /** The database's file; made, for its owner alone, where it is missing. Its folder must be there. */
  path: string;
  /** The values that a stored app gets for fields that it lacks because they are younger. */
  defaults: AppDefaults;
  /** So many random bytes. */
  random: (size: number) => Uint8Array;
}

const FLEET_BYTES = 16;

/**
 * Opens the store, and brings a file of an older version up to date. Rejects as `invalid`, and leaves the file
 * untouched, where it is no database of ours or a newer version's, or has the log of another file; as `unavailable`
 * where it cannot be opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqliteStore> {
  try {
    return openFile(options);
  } catch (error) {
    throw storeError(error);
  }
}

/** The header is looked at first, by a connection that can change nothing. */
function openFile({ path, defaults, random }: SqliteStoreOptions): SqliteStore {
  createFile(path);
  requireWritable(path);
  rollBack(path);
  const reader = openReader(path);
  return closeOnFailure(reader, () => {
    checkHeader(reader, MIGRATIONS);
    checkLog(path, reader);
    enlargeCache(reader);
    const writer = openWriter(path);
    return closeOnFailure(writer, () => {
      migrate(writer, MIGRATIONS, Buffer.from(random(FLEET_BYTES)).toString('hex'));
      const writes = writesOn(writer, defaults, random);
      return new SqliteStore({ reader, writer }, readsOn(reader, defaults), writes, watchFiles(path));
    });
  });
}

/** SQLite opens a file that this user can only read for reading only, and the first write would say so. */
function requireWritable(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`].filter((each) => existsSync(each))) {
    try {
      accessSync(file, constants.W_OK);
    } catch (error) {
      const what = file === path ? 'the store' : `the file beside the store (${basename(file)})`;
      const message = `${what} may not be written by this user; make the user of the manager its owner`;
      throw new HoldfastError('unavailable', message, { code: (error as NodeJS.ErrnoException).code }, error);
    }
  }
}
