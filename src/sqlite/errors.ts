import { descriptorShortage } from '../disk/descriptors.ts';
import { closedError, HoldfastError } from '../errors.ts';

/** The remedy for a store that SQLite cannot read. */
export const REMEDY =
  'restore a backup, or move it away together with its -wal and -shm files, and it is rebuilt from git';

/** How errors name a file of SQLite, and the remedy if SQLite cannot read it. */
export interface FileNames {
  subject: string;
  remedy: string;
}

const STORE: FileNames = { subject: 'the store', remedy: REMEDY };

/**
 * SQLite's primary result codes: `text` is SQLite's own message, the only thing that the driver passes on if the error
 * occurs while rows are read; `description` completes the sentence "the store ..." for administrators, up to the remedy.
 */
const FAILURES: readonly (readonly [code: number, name: string, text: string, description: string])[] = [
  [3, 'SQLITE_PERM', 'access permission denied', 'may not be opened by this user'],
  [5, 'SQLITE_BUSY', 'database is locked', 'is locked by another process'],
  [6, 'SQLITE_LOCKED', 'database table is locked', 'is locked by another connection'],
  [7, 'SQLITE_NOMEM', 'out of memory', 'is out of memory'],
  [
    8,
    'SQLITE_READONLY',
    'attempt to write a readonly database',
    'is read-only; check its file system, and the owner and permissions of its files',
  ],
  [
    10,
    'SQLITE_IOERR',
    'disk I/O error',
    'cannot be read or written: the disk reports an error; check the system log',
  ],
  [11, 'SQLITE_CORRUPT', 'database disk image is malformed', 'is damaged'],
  [13, 'SQLITE_FULL', 'database or disk is full', 'has no space left on its disk; make room there'],
  [
    14,
    'SQLITE_CANTOPEN',
    'unable to open database file',
    'cannot be opened; check the owner and permissions of its files',
  ],
  [19, 'SQLITE_CONSTRAINT', 'constraint failed', 'rejected a change that violates a constraint'],
  [26, 'SQLITE_NOTADB', 'file is not a database', 'is not a database'],
];

/** SQLITE_CORRUPT. */
const CORRUPT = 11;
/** SQLITE_NOTADB. */
const NOT_A_DATABASE = 26;

/** SQLITE_IOERR. */
const IO_ERROR = 10;
/** SQLITE_CANTOPEN. */
const CANNOT_OPEN = 14;
/** How many files SQLite opens at once: the database, its log, the index of the log, and their folder. */
const FILES = 4;

/** SQLITE_BUSY. */
const BUSY = 5;

/** The driver's error code for a closed connection. */
const CLOSED = 'ERR_INVALID_STATE';

/**
 * Turns an error of SQLite or of its files into a `HoldfastError` of kind `unavailable`, with the names of the file that it
 * is about (default: the store). Returns all others unchanged.
 */
export function storeError(error: unknown, names: FileNames = STORE): unknown {
  if (!(error instanceof Error) || error instanceof HoldfastError) return error;
  if (codeOf(error) === CLOSED) return closedError();
  const primary = primaryCode(error);
  if (primary !== null) return sqliteError(primary, error, names);
  if ('syscall' in error) return fileError(error, names);
  return error;
}

/** Whether this is SQLite's error for a file that is not a database. */
export function isNotADatabase(error: unknown): boolean {
  return error instanceof Error && primaryCode(error) === NOT_A_DATABASE;
}

/** Whether this is SQLite's error for a lock of another process. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && primaryCode(error) === BUSY;
}

function sqliteError(primary: number, error: Error, { subject, remedy }: FileNames): HoldfastError {
  const known = FAILURES.find(([code]) => code === primary)?.[1];
  const name = 'sqliteCodeName' in error ? String(error.sqliteCodeName) : known;
  const description = primary === CANNOT_OPEN ? cannotOpen() : descriptionOf(primary);
  const advice = primary === CORRUPT || primary === NOT_A_DATABASE ? `; ${remedy}` : '';
  return unavailable(`${subject} ${description}${advice}`, name ?? codeOf(error), error);
}

/** An error of a file that the manager opened or synced itself, without SQLite. */
function fileError(error: Error & { syscall: unknown }, { subject }: FileNames): HoldfastError {
  const description = error.syscall === 'fdatasync' ? descriptionOf(IO_ERROR) : cannotOpen();
  return unavailable(`${subject} ${description}`, codeOf(error), error);
}

function unavailable(message: string, code: string, cause: Error): HoldfastError {
  return new HoldfastError('unavailable', message, { code }, cause);
}

function descriptionOf(code: number): string {
  return FAILURES.find(([known]) => known === code)?.[3] ?? 'failed';
}

/** SQLite does not report why it cannot open a file, so this checks for a lack of file descriptors. */
function cannotOpen(): string {
  const trouble = descriptorShortage(FILES);
  return trouble === null ? descriptionOf(CANNOT_OPEN) : `cannot be opened: ${trouble}`;
}

/** Returns SQLite's primary result code; 0 if it is unknown; null if the error is not of SQLite. */
function primaryCode(error: Error): number | null {
  if (codeOf(error) !== 'ERR_SQLITE_ERROR') return null;
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode & 0xff;
  return FAILURES.find(([, , text]) => text === error.message)?.[0] ?? 0;
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
