import { accessSync, constants, existsSync } from 'node:fs';
import { basename } from 'node:path';
import { HoldfastError } from '../../errors.ts';
import type { AppDefaults } from '../../protocol/app.ts';
import {
  type Connections,
  closeOnFailure,
  createFile,
  openReader,
  openWriter,
  rollBackJournal,
} from '../../sqlite/connection.ts';
import { storeError } from '../../sqlite/errors.ts';
import { checkLog, LogPosition } from '../../sqlite/log.ts';
import { createFileCheck } from '../../sqlite/open-files.ts';
import { Session } from '../../sqlite/session.ts';
import { memoryAsks } from '../asks/memory.ts';
import { sqliteDevices } from '../devices/sqlite.ts';
import { sqliteHistory } from '../history/sqlite.ts';
import { Acts } from '../history/sqlite-acts.ts';
import { sqliteIncidents } from '../incidents/sqlite.ts';
import { oidGenerator } from '../object-id.ts';
import { SqliteObjects } from '../objects/sqlite.ts';
import { FleetReads, FleetTables } from '../objects/sqlite-tables.ts';
import { sqliteReports } from '../reports/sqlite/reports.ts';
import { checkHeader, MIGRATIONS, migrate } from '../schema/migrations.ts';
import { createSpaceCheck, type ReadDisk } from '../space.ts';
import type { Ports } from './ports.ts';

export interface SqliteStoreOptions {
  /** The database's file, created if missing, readable only by its owner. Its folder must exist. */
  path: string;
  /** The values of fields that were added to the product after an app was stored. */
  defaults: AppDefaults;
  /** Returns so many random bytes. */
  random: (size: number) => Uint8Array;
  /** The most bytes of all reports together; the oldest are deleted for new ones. Without a limit by default. */
  maxReportBytes?: number;
  /** How full the disk is; asks the file system by default. */
  readDisk?: ReadDisk;
}

/** The ports of a store in SQLite. */
export interface SqlitePorts extends Ports {
  store: SqliteObjects;
}

const FLEET_BYTES = 16;

/**
 * Opens the store, and migrates the file if an older version wrote it. Rejects as `invalid`, and leaves the file as it
 * is, if this version must not use it (`checkHeader`) or its log belongs to another file (`checkLog`). Rejects as
 * `unavailable` if it cannot be opened.
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<SqlitePorts> {
  try {
    return openFile(options);
  } catch (error) {
    throw storeError(error);
  }
}

/** Checks the file by a read-only connection before the writer can change it. */
function openFile(options: SqliteStoreOptions): SqlitePorts {
  const { path, random } = options;
  createFile(path);
  requireWritable(path);
  rollBackJournal(path);
  const reader = openReader(path);
  return closeOnFailure(reader, () => {
    checkHeader(reader, MIGRATIONS);
    checkLog(path, reader);
    const writer = openWriter(path);
    return closeOnFailure(writer, () => {
      migrate(writer, MIGRATIONS, Buffer.from(random(FLEET_BYTES)).toString('hex'));
      return portsOf({ reader, writer }, options);
    });
  });
}

function portsOf(connections: Connections, options: SqliteStoreOptions): SqlitePorts {
  const { reader, writer } = connections;
  const { path, defaults, random, maxReportBytes: maxBytes = Number.POSITIVE_INFINITY, readDisk } = options;
  const checkSpace = createSpaceCheck(path, writer, readDisk);
  const position = new LogPosition(writer);
  const countTransaction = () => position.advance();
  const session = new Session({ connections, checkFiles: createFileCheck(path), countTransaction });
  const tables = new FleetTables(writer);
  const acts = new Acts(writer);
  const newOid = oidGenerator(random, tables.state().lastOid);
  const setLastOid = (oid: string) => tables.setLastOid(oid);
  const parts = { session, reader, writer, acts, tables, newOid, setLastOid, defaults, maxBytes };
  const reports = sqliteReports({ ...parts, checkSpace: () => checkSpace('reports') });
  return {
    store: new SqliteObjects({ ...parts, reads: new FleetReads(reader) }),
    shared: null,
    history: sqliteHistory({ ...parts, checkSpace }),
    reports,
    devices: sqliteDevices({ session, ...connections, checkSpace }),
    asks: memoryAsks(),
    incidents: sqliteIncidents({ session, ...connections }),
    close: async () => {
      session.end();
      await reports.close();
      await session.close();
    },
  };
}

/**
 * Rejects files that this user can only read: SQLite would open them read-only, and only the first write would fail.
 */
function requireWritable(path: string): void {
  for (const file of [path, `${path}-wal`, `${path}-shm`].filter((each) => existsSync(each))) {
    try {
      accessSync(file, constants.W_OK);
    } catch (error) {
      const subject = file === path ? 'the store' : `the file beside the store (${basename(file)})`;
      const message = `${subject} may not be written by this user; make the user of the manager its owner`;
      throw new HoldfastError('unavailable', message, { code: (error as NodeJS.ErrnoException).code }, error);
    }
  }
}
