import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { HoldfastError } from '../../errors.ts';
import { type Database, openAlone, prepare, type Statement } from './connection.ts';

/**
 * Counts the transactions of a store, in a table of one row that every one of them writes: so the write-ahead log says
 * after which transaction it began, and the file which one it has (`checkLog`).
 */
export class LogPosition {
  readonly #advance: Statement<never>;

  constructor(db: Database) {
    this.#advance = prepare(db, 'UPDATE log_position SET position = position + 1');
  }

  /** One more, inside the caller's transaction. */
  advance(): void {
    this.#advance.run();
  }
}

/**
 * Rejects as `invalid` a file with the log of another one: a copy that was put in the place of a store whose manager
 * was killed. SQLite asks for nothing more than a log whose own checksums are right, and would make a mixture of both
 * in which ids fall (docs/decisions/0016-a-log-of-another-file.md). `db` is a connection that can change nothing. A
 * file without positions is let through: it has not got its tables from its log yet.
 */
export function checkLog(path: string, db: Database): void {
  const place = withoutLog(path, (file) => prepare<Place>(file, PLACE).get());
  if (place === undefined) return;
  const last = prepare<{ position: number }>(db, POSITION).get()?.position;
  if (last === undefined || last === place.position) return;
  const first = firstPosition(`${path}-wal`, place);
  if (first === null || first > last || (place.position >= first - 1 && place.position <= last)) return;
  throw foreignLog({ file: place.position, first, last });
}

/** The position in the file, and the page that has it. */
interface Place {
  position: number;
  page: number;
  /** In bytes. */
  pageSize: number;
}

const POSITION = 'SELECT position FROM log_position';
const PLACE = `
  SELECT (${POSITION}) AS position, rootpage AS page, page_size AS pageSize FROM sqlite_schema, pragma_page_size
  WHERE name = 'log_position'`;

/**
 * What is read from the file as if there were no log; undefined where it cannot be read so. By SQLite: a file that this
 * process closes by itself takes the locks of all its connections with it.
 */
function withoutLog<T>(path: string, read: (file: Database) => T): T | undefined {
  const file = openAlone(path);
  try {
    return read(file);
  } catch {
    // No such table yet, or a page was written by half when the power went: the log has it whole.
    return undefined;
  } finally {
    file.close();
  }
}

function foreignLog(details: Record<string, number>): HoldfastError {
  const message =
    'the log beside the store (-wal) belongs to another file, such as one that this file replaced; ' +
    'to use this file, delete the -wal and -shm files beside it';
  return new HoldfastError('invalid', message, details);
}

/**
 * https://sqlite.org/fileformat2.html#the_write_ahead_log: bytes of its header, of a frame's, and where both have their
 * salt.
 */
const LOG_HEADER = 32;
const FRAME_HEADER = 24;
const LOG_SALT = 16;
const FRAME_SALT = 8;
const SALT_SIZE = 8;

/** The first position in the log; null where it has none. Frames of an earlier round through it have another salt. */
function firstPosition(path: string, { page, pageSize }: Place): number | null {
  if (!existsSync(path)) return null;
  const log = openSync(path, 'r');
  const read = (from: number, length: number): Buffer => {
    const buffer = Buffer.alloc(length);
    return buffer.subarray(0, readSync(log, buffer, 0, length, from));
  };
  try {
    const salt = read(LOG_SALT, SALT_SIZE);
    for (let from = LOG_HEADER; ; from += FRAME_HEADER + pageSize) {
      const header = read(from, FRAME_HEADER);
      if (header.length < FRAME_HEADER) return null;
      if (!header.subarray(FRAME_SALT, FRAME_SALT + SALT_SIZE).equals(salt)) return null;
      if (header.readUInt32BE(0) === page) return positionIn(read(from + FRAME_HEADER, pageSize));
    }
  } finally {
    closeSync(log);
  }
}

/** The first byte of a page that holds rows of a table; where it says how many; and a position, which ends the page. */
const LEAF = 0x0d;
const COUNT = 3;
const POSITION_SIZE = 6;

/** The position that a page of `log_position` holds; null for any other. */
function positionIn(page: Buffer): number | null {
  if (page.length < POSITION_SIZE || page[0] !== LEAF || page.readUInt16BE(COUNT) !== 1) return null;
  return page.readUIntBE(page.length - POSITION_SIZE, POSITION_SIZE);
}
