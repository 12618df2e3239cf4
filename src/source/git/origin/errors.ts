import { descriptorAdvice, HoldfastError, ShutdownError } from '../../../errors.ts';
import { RepositoryConflict } from '../../source.ts';
import { diskTrouble, lineOf } from '../process/disk-trouble.ts';
import type { ObjectFormat } from '../process/object-ids.ts';
import { GitFailure, stderrOf } from '../process/run.ts';
import { TransferEnded } from '../process/transfer.ts';
import { TOKEN_FILE_UNREADABLE } from './access.ts';

/** Origin cannot be reached now, or the transfer failed. */
export class OriginUnavailable extends HoldfastError {
  /** Whether something was sent that origin may accept, now or later. */
  readonly isSent: boolean;
  /** Whether it exceeded its time limit. */
  readonly isLate: boolean;

  constructor(message: string, facts: { isSent: boolean; isLate: boolean }, cause: unknown) {
    super('unavailable', message, {}, cause);
    this.isSent = facts.isSent;
    this.isLate = facts.isLate;
  }
}

/** Origin did not accept a push because a ref is locked: by another push, or by a dead process. */
export class OriginLocked extends RepositoryConflict {
  constructor(name: string, file: string, cause: unknown) {
    const message = `origin has locked ${name}: another push is in progress, or one was killed; try again, or remove ${file} there`;
    super(message, cause);
  }
}

/** Origin has another object format than the mirror, so nothing can be fetched. */
export class OtherFormat extends OriginUnavailable {
  readonly format: ObjectFormat;

  constructor(format: ObjectFormat, cause: unknown) {
    const message = `the repository at GIT_REMOTE has the object format ${format}, but its mirror has another`;
    super(message, { isSent: false, isLate: false }, cause);
    this.format = format;
  }
}

/** The message if the server that responds is not a git server. */
export const NO_SERVER =
  'GIT_REMOTE does not respond like a git server; check the address, and any proxy in front of it';

/**
 * Messages of the local git about different object formats, before anything is sent. They name origin's format only with
 * the newest protocol, which ssh servers seldom let git use.
 */
export const MISMATCHED =
  /^fatal: (?:mismatched algorithms: client \S+; server (sha1|sha256)|(?:the )?server does not support (?:algorithm '.*'|this repository's object format)|the receiving end does not support this repository's hash algorithm)$/im;

/** Messages of git and ssh about what users can set, and the text that says so. Any other is shown as git says it. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [new RegExp(`^${TOKEN_FILE_UNREADABLE}$`, 'm'), TOKEN_FILE_UNREADABLE],
  [
    /Authentication failed|could not read (?:Username|Password)|prompts disabled|error: 40[13]\b/,
    'origin rejects the credentials; check GIT_USERNAME and GIT_TOKEN (or GIT_TOKEN_FILE)',
  ],
  [
    /Permission denied \(|^Load key|are too open|^no such identity/m,
    'origin rejects the ssh key; GIT_SSH_KEY must name a private key that the user of the manager alone may read',
  ],
  [/Host key verification failed/, 'the host key of origin is unknown; check GIT_KNOWN_HOSTS'],
  [
    /Could not resolve|Failed to connect|connect to host/i,
    'origin is unreachable; check GIT_REMOTE and the network',
  ],
  // Other messages with "SSL" in them are about lost connections.
  [
    /certificate|SSL CA cert|adding trust anchors/i,
    'the certificate of origin is not trusted; check GIT_CA_FILE',
  ],
];

/** An address in a message, which can contain any word. */
const ADDRESS = /'\w+:\/\/[^'\n]*'/g;

/** Printed once a push sends commits; before that, origin has nothing that it could accept. */
const SENDING = /Writing objects:/;
/** Origin itself has responded, and refused before it read what was sent. */
const TURNED_AWAY = /requested URL returned error: 40[13]\b/;

/** Returns an error for a failed transfer, whose message says what to check. */
export function unreachable(error: unknown): OriginUnavailable {
  const text = stderrOf(error);
  const isLate = /^not done within/.test(text);
  const isSending = SENDING.test(text);
  const isSent = isLate || (isSending && !TURNED_AWAY.test(text));
  if (error instanceof TransferEnded) {
    const shutdown = new ShutdownError(error);
    return new OriginUnavailable(shutdown.message, { isSent, isLate }, shutdown);
  }
  const shortage = descriptorAdvice(text.replaceAll(OF_ORIGIN, ''));
  const trouble = diskTrouble(error);
  // `CAUSES` are of connections that could not be made; once something was sent, similar texts mean other things.
  const said = text.replaceAll(ADDRESS, "''");
  const known = isSent ? undefined : CAUSES.find(([pattern]) => pattern.test(said))?.[1];
  const message =
    (shortage && `git cannot connect to origin: ${shortage}`) ??
    (trouble && `the mirror of origin cannot be written: ${trouble}`) ??
    known ??
    (isLate ? 'origin did not respond in time' : asGitSays(error));
  return new OriginUnavailable(message, { isSent, isLate }, error);
}

function asGitSays(error: unknown): string {
  const line = error instanceof GitFailure ? lineOf(error) : '';
  return line === '' ? 'the transfer with origin failed' : `the transfer with origin failed: ${line}`;
}

/** Lines in which origin reports a problem, which is one of its own machine. */
const OF_ORIGIN = /^(?:remote: |fatal: remote error: ).*$/gm;
