import { HoldfastError } from '../../errors.ts';
import { closedError } from '../closed.ts';

/** What SQLite's primary result codes mean for the person who has to act; each follows "the store". */
const WORDS: ReadonlyMap<number, string> = new Map([
  [3, 'may not be opened by this user'],
  [5, 'is locked by another process'],
  [6, 'is locked by another connection'],
  [7, 'has not enough memory'],
  [8, 'is read-only'],
  [10, 'cannot be read or written: the disk reports an error'],
  [11, 'is damaged; restore it from a backup, or delete it and it is built again from git'],
  [13, 'has no space left on its disk'],
  [14, 'cannot be opened'],
  [19, 'refused a change that breaks its own rules'],
  [26, 'is not a database'],
]);

/** SQLITE_NOTADB. */
const NOT_A_DATABASE = 26;

/** SQLITE_BUSY. */
const BUSY = 5;

/** The driver's error for a connection that is closed. */
const CLOSED = 'ERR_INVALID_STATE';

/**
 * The one place where failures of SQLite and of its files become errors of ours, of kind `unavailable`.
 * Errors that are ours already, and mistakes of this program, are returned as they are.
 */
export function storeError(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof HoldfastError) return error;
  if (codeOf(error) === CLOSED) return closedError();
  const primary = primaryCode(error);
  if (primary !== null) return unavailable(WORDS.get(primary) ?? 'failed', nameOf(error), error);
  if ('syscall' in error) return unavailable('cannot be opened', codeOf(error), error);
  return error;
}

/** Whether SQLite says that the file is something else. */
export function isNotADatabase(error: unknown): boolean {
  return error instanceof Error && primaryCode(error) === NOT_A_DATABASE;
}

/** Whether another process holds the file. */
export function isBusy(error: unknown): boolean {
  return error instanceof Error && primaryCode(error) === BUSY;
}

function unavailable(words: string, code: string, cause: Error): HoldfastError {
  return new HoldfastError('unavailable', `the store ${words}`, { code }, cause);
}

/** SQLite's result code without its extension; 0 where the driver gives none; null for other errors. */
function primaryCode(error: Error): number | null {
  if (codeOf(error) !== 'ERR_SQLITE_ERROR') return null;
  return 'errcode' in error && typeof error.errcode === 'number' ? error.errcode & 0xff : 0;
}

function nameOf(error: Error): string {
  return 'sqliteCodeName' in error ? String(error.sqliteCodeName) : codeOf(error);
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
