/**
 * The errors that cross a layer. The KIND decides what the program does (which HTTP status, whether the loop
 * retries); the message is for people, and never carries a path of the machine, a stack or a secret.
 */

/** Every kind, with what it means for whoever catches it. */
export type ErrorKind =
  /** The request or the settings are wrong; the same input fails again. */
  | 'invalid'
  /** The named object does not exist. */
  | 'absent'
  /** The named object exists already. */
  | 'present'
  /** A precondition (`If-Match`) does not hold any more. */
  | 'moved-on'
  /** The state of the repository refuses the change; a person has to look. */
  | 'conflict'
  /** git, origin or the store cannot be reached now; trying again later may work. */
  | 'unavailable'
  /** The revision itself is refused: nothing changes until there is a new commit. */
  | 'stalled'
  /** A mistake in this program. */
  | 'internal';

/** A fault of a known kind. `details` are facts for the reply or the log, safe to show. */
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

/** The kind of anything thrown; what is not ours is `internal`. */
export function kindOf(error: unknown): ErrorKind {
  return error instanceof HoldfastError ? error.kind : 'internal';
}

/** The message of anything thrown, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
