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

/** What is known of the commit of a write that has failed. */
interface OwnCommit {
  /** The commit of this write. */
  revision?: string;
  /** Whether that commit is applied. */
  applied?: boolean;
}

/** What the files of the desired state have to do with an error. */
interface Files {
  /** Problems of files, as `desired/` finds them. */
  problems?: readonly object[];
  /** Paths in the repository. */
  paths?: readonly string[];
}

/** What a store or an operating system says of its own failure. */
interface Diagnosis {
  code?: string | undefined;
}

/** What stands in the way of going back (docs/history.md). */
interface WayBack {
  conflicts?: readonly object[];
  needs?: readonly object[];
  /** The newest revision whose file is valid by the rules of today. */
  newest_valid?: string | null;
}

/** The facts that each kind of error can tell besides its message; they are safe to show. */
export interface ErrorDetails {
  invalid: Files &
    Diagnosis & {
      version?: number;
      known?: number;
      /** Why fields of a body cannot be taken. */
      invalid_parameters?: Readonly<Record<string, string>>;
    };
  /** `hint`: how to make it known. */
  absent: {
    missing?: 'app' | 'device_group' | 'device' | 'revision' | 'entry';
    apps?: readonly string[];
    hint?: string;
  };
  present: { existing?: 'app' | 'device_group' | 'device' };
  'moved-on': Record<never, never>;
  /** `devices`: the first of `devices_total` that stand in the way. */
  conflict: Files &
    OwnCommit &
    WayBack & { rows?: number; copied?: number; devices?: readonly string[]; devices_total?: number };
  /** `commits`: it is unknown whether these, one per draft, are published. */
  unavailable: Files & OwnCommit & Diagnosis & { commits?: readonly string[] };
  refused: Files & Diagnosis;
  internal: Record<never, never>;
}

/** An error of a known kind. */
export class HoldfastError<K extends ErrorKind = ErrorKind> extends Error {
  override readonly name = 'HoldfastError';
  readonly kind: K;
  readonly details: Readonly<ErrorDetails[K]>;

  constructor(kind: K, message: string, details: ErrorDetails[K] = {}, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.details = details;
  }
}

/** A HoldfastError as a union: a test of its `kind` tells which details it has. */
export type KnownError = { [K in ErrorKind]: HoldfastError<K> }[ErrorKind];

/** Returns a thrown value as a KnownError if it is a HoldfastError, else null. */
export function knownError(error: unknown): KnownError | null {
  return error instanceof HoldfastError ? (error as KnownError) : null;
}

/** Returns a HoldfastError as it is, and wraps any other thrown value in one of kind `internal`. */
export function asHoldfastError(error: unknown): KnownError {
  return knownError(error) ?? new HoldfastError('internal', messageOf(error), {}, error);
}

/** Returns the kind of a thrown value: `internal` unless it is a HoldfastError. */
export function kindOf(error: unknown): ErrorKind {
  return error instanceof HoldfastError ? error.kind : 'internal';
}

/** Returns the message of a thrown value, for logs. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Limits the chain of causes: the error of a package could be among its own causes. */
const MAX_CAUSES = 10;

/** Returns the messages of an error's causes, without those that a message before them contains. */
export function causesOf(error: unknown): string[] {
  const messages = [messageOf(error)];
  let cause = error instanceof Error ? error.cause : null;
  for (let depth = 0; cause instanceof Error && depth < MAX_CAUSES; depth++) {
    const { message } = cause;
    if (!messages.some((before) => before.includes(message))) messages.push(message);
    ({ cause } = cause);
  }
  return messages.slice(1);
}

/**
 * Returns what a log says of a failure: the reason and its causes in words; for a bug also the error with its stack. What
 * fails outside of this program (origin, a disk, the store) is expected to, and its stack tells nobody anything.
 */
export function factsOfFailure(error: unknown): Record<string, unknown> {
  const kind = kindOf(error);
  const reason = messageOf(error);
  if (kind === 'internal') return { kind, reason, err: error };
  const cause = causesOf(error).join(': ');
  const output = outputOf(error);
  const isShown = output === null || cause.includes(output.trim());
  return { kind, reason, ...(cause !== '' && { cause }), ...(isShown ? {} : { stderr: output }) };
}

/** Returns what the program that failed printed, if an error of the chain has that. */
function outputOf(error: unknown): string | null {
  for (let one = error, depth = 0; one instanceof Error && depth < MAX_CAUSES; one = one.cause, depth++) {
    if ('stderr' in one && typeof one.stderr === 'string') return one.stderr;
  }
  return null;
}

/** The manager itself ended the work, or did not begin it, because it is stopping; nobody has to act on this. */
export class ShutdownError extends HoldfastError<'unavailable'> {
  constructor(cause?: unknown) {
    super('unavailable', 'the manager is shutting down', {}, cause);
  }
}

/** Reports whether an error, or one of its causes, comes from the manager's own shutdown. */
export function isShutdownError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return error instanceof ShutdownError || isShutdownError(error.cause);
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

/** Returns the error of every call on a closed store. */
export function closedError(): HoldfastError {
  return new HoldfastError('unavailable', 'the store is closed');
}
