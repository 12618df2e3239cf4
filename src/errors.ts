/**
 * The errors that cross a layer. The kind decides what the program does, such as which HTTP status it sends and whether
 * it tries again. The message is for people, and never has a path of the machine, a stack or a secret in it.
 */

/** Every kind of error, and what it means for the code that catches it. */
export type ErrorKind =
  /** The request or the settings are wrong; they would fail again. */
  | 'invalid'
  /** The named object does not exist. */
  | 'absent'
  /** The named object exists already. */
  | 'present'
  /** What the call was based on has changed meanwhile: the object (`If-Match`), or a ref. */
  | 'moved-on'
  /** The state of the repository does not allow the change; a person has to look. */
  | 'conflict'
  /** git, origin or the store cannot be used now; trying again later may work. */
  | 'unavailable'
  /** The revision is refused, and nothing changes until there is another one. */
  | 'refused'
  /** A mistake in this program. */
  | 'internal';

/** An error of a known kind. `details` are facts for the reply or the log, safe to show. */
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

/** Anything thrown as an error of a known kind; what is not ours is `internal`. */
export function asHoldfastError(error: unknown): HoldfastError {
  return error instanceof HoldfastError ? error : new HoldfastError('internal', messageOf(error), {}, error);
}

/** The kind of anything thrown; what is not ours is `internal`. */
export function kindOf(error: unknown): ErrorKind {
  return error instanceof HoldfastError ? error.kind : 'internal';
}

/** The message of anything thrown, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Why a stopping manager does not do something; no trouble that anybody has to look at. */
export const SHUTTING_DOWN = 'the manager is shutting down';

/** Whether something failed because the manager itself has ended it, or did not begin it any more. */
export function isOfShutdown(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error.message === SHUTTING_DOWN || isOfShutdown(error.cause);
}

/** Of Node and of git, for this process (EMFILE) or for the machine (ENFILE). */
const NO_DESCRIPTOR = /\bE[MN]FILE\b|too many open files/i;

/** What to do where no more files can be opened, by a text that an error tells; null where it is about something else. */
export function descriptorTrouble(text: string): string | null {
  return NO_DESCRIPTOR.test(text) ? TOO_FEW_DESCRIPTORS : null;
}

const TOO_FEW_DESCRIPTORS =
  'too many files are open; raise the limit of open files (ulimit -n; LimitNOFILE= in a unit)';
