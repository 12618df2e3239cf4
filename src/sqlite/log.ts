import { closeSync, openSync, readSync } from 'node:fs';
import { HoldfastError } from '../errors.ts';
import { type Database, openWithoutLog, prepare, type Statement } from './connection.ts';

/**
 * Counts the transactions of a store in a table of one row. Every transaction writes the row, so the write-ahead
 * log shows with which transaction it begins, and the file which transaction it has; `checkLog` compares the two.
 */
export class LogPosition {
  readonly #advance: Statement<never>;

  constructor(db: Database) {
    this.#advance = prepare(db, 'UPDATE log_position SET position = position + 1');
  }

  /** Counts the caller's transaction. */
  advance(): void {
    this.#advance.run();
  }
}

/**
 * Throws `invalid` if the write-ahead log beside a file belongs to another file, as when a copy replaces a store whose
 * manager was killed. SQLite accepts every log with correct checksums, and would mix both files, so that ids could fall
 * (docs/decisions/0016-a-log-of-another-file.md). `db` must be a read-only connection. Accepts a file without a
 * position: its tables are still in its log.
 */
export function checkLog(path: string, db: Database): void {
  const inFile = readWithoutLog(path, (file) => prepare<FilePosition>(file, FILE_POSITION).get());
  if (inFile === undefined) return;
  const last = prepare<{ position: number }>(db, POSITION).get()?.position;
  // No transaction is in the log, or only some that were copied into the file.
  if (last === undefined || last === inFile.position) return;
  const first = firstPosition(`${path}-wal`, inFile);
  if (first === null || (inFile.position >= first - 1 && inFile.position <= last)) return;
  throw foreignLog();
}

/** The position in the file, and the number of the page that contains it. */
interface FilePosition {
  position: number;
  page: number;
  /** In bytes. */
  pageSize: number;
}

const POSITION = 'SELECT position FROM log_position';
const FILE_POSITION = `
  SELECT (${POSITION}) AS position, rootpage AS page, page_size AS pageSize FROM sqlite_schema, pragma_page_size
  WHERE name = 'log_position'`;

/**
 * Reads the file without its log; returns undefined if that fails. Must be done by SQLite: if this process opened and
 * closed the file itself, it would lose the locks of all its connections.
 */
function readWithoutLog<T>(path: string, read: (file: Database) => T): T | undefined {
  const file = openWithoutLog(path);
  try {
    return read(file);
  } catch {
    // Only the log has the table, or an intact copy of a page that a loss of power has left half written.
    return undefined;
  } finally {
    file.close();
  }
}

function foreignLog(): HoldfastError {
  const message =
    'the log beside the store (-wal) belongs to another file, such as one that this file replaced; ' +
    'to use this file, delete the -wal and -shm files beside it';
  return new HoldfastError('invalid', message);
}

/**
 * The format of the log (https://sqlite.org/fileformat2.html#the_write_ahead_log), in bytes: the sizes of the log's
 * header and a frame's. A frame's header begins with the number of its page.
 */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
/** The size of a position, which is at the end of its page. */
const POSITION_SIZE = 6;

/**
 * Returns the first position in a log that has transactions; null if it cannot be read. Each transaction writes the
 * page, and old frames, from before a reset of the log, come after all others.
 */
function firstPosition(path: string, { page, pageSize }: FilePosition): number | null {
  const log = openSync(path, 'r');
  const read = (from: number, length: number): Buffer => {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(log, buffer, 0, length, from));
  };
  try {
    for (let from = LOG_HEADER; ; from += FRAME_HEADER + pageSize) {
      const header = read(from, FRAME_HEADER);
      if (header.length < FRAME_HEADER) return null;
      if (header.readUInt32BE(0) !== page) continue;
      const position = read(from + FRAME_HEADER + pageSize - POSITION_SIZE, POSITION_SIZE);
      return position.length < POSITION_SIZE ? null : position.readUIntBE(0, POSITION_SIZE);
    }
  } finally {
    closeSync(log);
  }
}
