import { HoldfastError } from '../../errors.ts';
import { type Database, prepare } from '../../sqlite/connection.ts';
import { isNotADatabase, REMEDY } from '../../sqlite/errors.ts';
import { inTransaction } from '../../sqlite/transaction.ts';
import { createSchema } from './sqlite.ts';
import { LAST_UNRELEASED, refuseOtherSchema } from './version.ts';

/** Brings a database from one version to the next, inside a transaction. `fleet` is the identity for a new database. */
export type Migration = (db: Database, fleet: string) => void;

/** All migrations, oldest first; the first makes version `LAST_UNRELEASED + 1`. A release may only append to them. */
export const MIGRATIONS: readonly Migration[] = [createSchema];

/** "Hold" in ASCII. The file's header contains it, to distinguish Holdfast's files from those of other programs. */
const APPLICATION_ID = 0x486f6c64;

interface Header {
  version: number;
  application: number;
  tables: number;
}

/**
 * Throws `invalid` if this version must not use the file: it is not a database, or belongs to another program, or was
 * written by a newer or an unreleased version. The message has the remedy. Returns false if the file is empty, as a new
 * one is. Only reads.
 */
export function checkHeader(db: Database, migrations: readonly Migration[]): boolean {
  const { version, application, tables } = readHeader(db);
  const isNew = version === 0 && application === 0 && tables === 0;
  if (isNew) return false;
  const newest = LAST_UNRELEASED + migrations.length;
  if (version <= newest && application !== APPLICATION_ID) {
    throw new HoldfastError(
      'invalid',
      "the store's file is a database of another program; set DATA_DIR to another folder",
    );
  }
  refuseOtherSchema(version, newest, 'set DATA_DIR to an empty folder (containers restart once)');
  return true;
}

/** Runs the migrations that the database has not been through, each in its own transaction. */
export function migrate(db: Database, migrations: readonly Migration[], fleet: string): void {
  migrations.forEach((migration, index) => {
    const version = LAST_UNRELEASED + 1 + index;
    if (readHeader(db).version >= version) return;
    inTransaction(db, () => {
      // Another process may have run it between the check and the lock.
      if (readHeader(db).version >= version) return;
      migration(db, fleet);
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}`);
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
    throw new HoldfastError('invalid', `the store's file is not a database; ${REMEDY}`, {}, error);
  }
}
