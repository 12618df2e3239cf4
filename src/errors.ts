/**
 * The errors that cross a layer. The kind decides how the program reacts, such as which HTTP status it sends and
 * whether it tries again. The message is for people, and never contains a path of this machine, a stack trace or a
 * secret.
 */

/** Every kind of error, and what it means for the code that catches it. */
export type ErrorKind =
  /** The request or the settings are wrong; trying again would fail again. */
  | 'invalid'
  /** The named object does not exist. */
  | 'absent'
  /** An object of that name already exists. */
  | 'present'
  /** The object (`If-Match`) or the ref that the call is based on has changed since the caller read it. */
  | 'moved-on'
  /** The state of the repository does not allow the change, and a user must resolve that. */
  | 'conflict'
  /** git, origin or the store cannot be used now; trying again later may work. */
  | 'unavailable'
  /** The revision is refused as a whole; nothing changes until there is a new commit. */
  | 'refused'
  /** A bug in this program. */
  | 'internal';

/** An error of a known kind. `details` are facts for the reply or the log; they are safe to show. */
export class HoldfastError extends Error {
  override readonly name = 'HoldfastError';
  readonly kind: ErrorKind;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(kind: ErrorKind, message: string, details: Record<string, unknown> = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.details = details;
  }
}

/** Returns a HoldfastError as it is, and wraps any other thrown value in one of kind `internal`. */
export function asHoldfastError(error: unknown): HoldfastError {
  return error instanceof HoldfastError ? error : new HoldfastError('internal', messageOf(error), {}, error);
}

/** Returns the kind of a thrown value: `internal` unless it is a HoldfastError. */
export function kindOf(error: unknown): ErrorKind {
  return error instanceof HoldfastError ? error.kind : 'internal';
}

/** Returns the message of a thrown value, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The message of an error that only means that the manager is stopping; nobody has to act on it. */
export const SHUTTING_DOWN = 'the manager is shutting down';

/** Reports whether an error, or one of its causes, comes from the manager's own shutdown. */
export function isShutdownError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === SHUTTING_DOWN || isShutdownError(error.cause);
}

/** Node's and git's errors for the limit of this process (EMFILE) or of the machine (ENFILE). */
const NO_DESCRIPTOR = /\bE[MN]FILE\b|too many open files/i;

/**
 * Returns the advice for an error that says that no more files can be opened, given its code or message; null for any
 * other error.
 */
export function descriptorAdvice(text: string): string | null {
  return NO_DESCRIPTOR.test(text) ? TOO_FEW_DESCRIPTORS : null;
}

const TOO_FEW_DESCRIPTORS =
  'too many files are open; raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)';
