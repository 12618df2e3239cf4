import { HoldfastError } from '../../errors.ts';
import { type Database, prepare } from './connection.ts';
import { isNotADatabase } from './errors.ts';
import { createSchema } from './schema.ts';
import { inTransaction } from './transaction.ts';

/** Brings a database from one version to the next, inside a transaction. `fleet` is a new random id. */
export type Migration = (db: Database, fleet: string) => void;

/** All versions from the first; the version of a database is how many of these it has been through. Only add. */
export const MIGRATIONS: readonly Migration[] = [createSchema];

/** "Hold" in ASCII, in the file's header: tells our files from those of other programs. */
const APPLICATION_ID = 0x486f6c64;

interface Header {
  version: number;
  application: number;
  tables: number;
}

/**
 * Rejects as `invalid` a file that this version must not touch: no database, another program's, or one that
 * a newer version wrote. Reads only.
 */
export function checkHeader(db: Database, migrations: readonly Migration[]): void {
  const { version, application, tables } = readHeader(db);
  if (version > migrations.length) {
    const message =
      `the store was written by a newer version of Holdfast (its schema is ${version}, ` +
      `this version knows ${migrations.length}); run that version, or set DATA_DIR to an empty folder (containers restart once)`;
    throw new HoldfastError('invalid', message, { version, known: migrations.length });
  }
  const isNew = version === 0 && application === 0 && tables === 0;
  if (!isNew && application !== APPLICATION_ID) {
    throw new HoldfastError('invalid', "the store's file is a database of another program");
  }
}

/** Runs the migrations that the database has not been through, each in a transaction of its own. */
export function migrate(db: Database, migrations: readonly Migration[], fleet: string): void {
  migrations.forEach((migration, index) => {
    if (readHeader(db).version > index) return;
    inTransaction(db, () => {
      // Another process may have been here between the look and the lock.
      if (readHeader(db).version > index) return;
      migration(db, fleet);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${index + 1}`);
    });
  });
}

const HEADER = `
  SELECT user_version AS version, application_id AS application,
    (SELECT count(*) FROM sqlite_schema) AS tables
  FROM pragma_user_version, pragma_application_id`;

function readHeader(db: Database): Header {
  try {
    return prepare<Header>(db, HEADER).get() ?? { version: 0, application: 0, tables: 0 };
  } catch (error) {
    if (!isNotADatabase(error)) throw error;
    throw new HoldfastError('invalid', "the store's file is not a database", {}, error);
  }
}
