import {
  MongoError,
  MongoInvalidArgumentError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoParseError,
  MongoServerError,
  MongoServerSelectionError,
  MongoWriteConcernError,
} from 'mongodb';
import { HoldfastError } from '../errors.ts';

/** Error codes of the server in words; each follows "the store". */
const WORDS: ReadonlyMap<number, string> = new Map([
  [64, 'does not confirm a write by a majority of its members in time'],
  [91, 'is shutting down'],
  [189, 'is choosing a new primary'],
  [10_107, 'is choosing a new primary'],
  [11_602, 'is choosing a new primary'],
  [13_435, 'is choosing a new primary'],
  [14_031, 'has no space left on its disk; make room there'],
]);

/** Error codes about the user or password in words; each is followed by the setting that has them. */
const WORDS_OF_ADDRESS: ReadonlyMap<number, string> = new Map([
  [13, 'denies access to the user of'],
  [18, 'rejects the user or the password of'],
]);

/** The server's code for a document whose `_id` exists already. */
export const DUPLICATE_KEY = 11_000;
const INDEX_OPTIONS_CONFLICT = 85;

/** The driver's errors about an address that cannot work with any server, however often it is tried. */
const REFUSALS = [MongoParseError, MongoInvalidArgumentError, MongoMissingDependencyError] as const;

/** Node's codes for settings that it refuses before it connects: `localPort=abc`, `ciphers=x`, a key that is none. */
const REFUSED_SETTING = /^ERR_(INVALID_|OUT_OF_RANGE$|TLS_INVALID_|SSL_NO_CIPHER_MATCH$|CRYPTO_|OSSL_)/;

/** User and password in a URI. */
const CREDENTIALS = /\/\/[^/\s]*@/g;

/**
 * Converts an error of the driver or the server into a HoldfastError: `unavailable` (the call may have happened). Returns
 * all other errors unchanged. The message contains neither user nor password.
 */
export function storeError(error: unknown): unknown {
  if (!(error instanceof MongoError)) return error;
  const code = error instanceof MongoServerError ? (error.codeName ?? String(error.code)) : error.name;
  return new HoldfastError('unavailable', `the store ${wordsFor(error)}`, { code }, redactedError(error));
}

/**
 * `storeError` for a connection that is being opened; `invalid` if the address cannot work. The driver then looks up the
 * servers of a `mongodb+srv` address, reads the files that an address names, and passes on system errors of both as they
 * are.
 */
export function openError(error: unknown): unknown {
  const refusal = refusalIn(error);
  if (refusal !== null)
    return new HoldfastError('invalid', `MONGODB_URI cannot be used: ${redacted(refusal.message)}`);
  if (!(error instanceof Error) || error instanceof MongoError) return storeError(error);
  const { code, syscall = '' } = error as NodeJS.ErrnoException;
  if (syscall.startsWith('query')) {
    const message = `the store cannot be reached: DNS does not find the servers of MONGODB_URI`;
    return new HoldfastError('unavailable', message, { code }, error);
  }
  if (syscall !== 'open' && syscall !== 'read') return error;
  return new HoldfastError('invalid', `MONGODB_URI names a file that cannot be read (${code})`, {}, error);
}

/**
 * Returns the error, or the one among its causes, by which the driver or Node refuses the address; null if there is none.
 */
function refusalIn(error: unknown): Error | null {
  if (!(error instanceof Error)) return null;
  const { code } = error as NodeJS.ErrnoException;
  const isRefusal =
    REFUSALS.some((refusal) => error instanceof refusal) || REFUSED_SETTING.test(String(code));
  return isRefusal ? error : refusalIn(error.cause);
}

export function isDuplicateKey(error: unknown): boolean {
  return error instanceof MongoError && error.code === DUPLICATE_KEY;
}

/** Whether there is an index of these keys already, under another name or with other options. */
export function isIndexConflict(error: unknown): boolean {
  return error instanceof MongoError && error.code === INDEX_OPTIONS_CONFLICT;
}

/** Whether no server was found for the call, so that it has not happened. */
export function isNoServer(error: unknown): boolean {
  return error instanceof MongoServerSelectionError;
}

function redacted(text: string): string {
  return text.replace(CREDENTIALS, '//(secret)@');
}

function wordsFor(error: MongoError): string {
  if (isNoServer(error)) return `cannot be reached: no server of MONGODB_URI accepts writes`;
  // The driver does not export its class.
  const isPoolBusy = error.name === 'MongoWaitQueueTimeoutError';
  if (error instanceof MongoNetworkError || isPoolBusy) return 'does not answer';
  const code = Number(error.code);
  const ofAddress = WORDS_OF_ADDRESS.get(code);
  if (ofAddress !== undefined) return `${ofAddress} MONGODB_URI`;
  const known = WORDS.get(code);
  if (known !== undefined) return known;
  return error instanceof MongoWriteConcernError ? 'does not confirm a write' : 'failed';
}

/** Returns the error for the log: the driver's own error includes the topology, and can quote the URI. */
function redactedError({ name, message }: MongoError): Error {
  return Object.assign(new Error(redacted(message)), { name });
}
