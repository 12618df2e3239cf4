import { descriptorAdvice, HoldfastError, ShutdownError } from '../../../errors.ts';
import { RepositoryConflict } from '../../source.ts';
import { diskTrouble } from '../process/disk-trouble.ts';
import type { ObjectFormat } from '../process/object-ids.ts';
import { stderrOf } from '../process/run.ts';
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

/** Messages of git and ssh, and the text for users that explains each. */
const CAUSES: readonly (readonly [RegExp, string])[] = [
  [
    /\bssh: (command )?not found|cannot run ssh\b/,
    'ssh is not on the PATH of the manager; install an ssh client (openssh-client)',
  ],
  [
    /'remote-https?' is not a git command|unable to find remote helper for 'https?'/i,
    'git does not support https; install its helper for that (git-remote-https)',
  ],
  [new RegExp(`^${TOKEN_FILE_UNREADABLE}$`, 'm'), TOKEN_FILE_UNREADABLE],
  [
    /Authentication failed|could not read (Username|Password)|terminal prompts disabled|error: 40[13]\b/,
    'origin rejects the credentials; check GIT_USERNAME and GIT_TOKEN (or GIT_TOKEN_FILE)',
  ],
  [
    /Permission to .* denied|marked as read only|not allowed to push/i,
    'origin does not allow this account to push',
  ],
  [
    /are too open|bad permissions/,
    'other users can read the key in GIT_SSH_KEY, so ssh does not use it; set its mode to 600',
  ],
  [
    /^Load key ".*": /m,
    'ssh cannot use the file named in GIT_SSH_KEY; it must be a private key that the user of the manager may read',
  ],
  [/^no such identity: .*: No such file/m, 'GIT_SSH_KEY names a file that does not exist'],
  [/Permission denied/, 'origin rejects the ssh key; check GIT_SSH_KEY'],
  [/Host key verification failed/, 'the host key of origin is unknown; check GIT_KNOWN_HOSTS'],
  [/dubious ownership/, 'the repository at GIT_REMOTE belongs to another user'],
  [
    /not appear to be a git repository|repository .*not found|not found$|could not be found|does not exist/im,
    'there is no repository at GIT_REMOTE',
  ],
  [/info\/refs not valid|bad line length character/, NO_SERVER],
  [
    /redirects followed|unable to update url base from redirection/,
    'GIT_REMOTE redirects to another address; set it to that of the repository itself',
  ],
  [/error: 429\b/, 'origin limits the rate of requests (HTTP status 429); raise GIT_POLL_INTERVAL'],
  [MISMATCHED, 'the repository at GIT_REMOTE and its mirror have different object formats'],
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
/** Origin, or a proxy in front of it, has responded with an error. */
const ANSWERED = /requested URL returned error: ([45]\d\d)\b/;
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
  if (shortage !== null)
    return new OriginUnavailable(`git cannot connect to origin: ${shortage}`, { isSent, isLate }, error);
  const trouble = diskTrouble(error);
  if (trouble !== null)
    return new OriginUnavailable(
      `the mirror of origin cannot be written: ${trouble}`,
      { isSent, isLate },
      error,
    );
  // `CAUSES` are of connections that could not be made; once something was sent, similar texts mean other things.
  const said = text.replaceAll(ADDRESS, "''");
  const known = isSent ? undefined : CAUSES.find(([pattern]) => pattern.test(said))?.[1];
  const [, status] = ANSWERED.exec(text) ?? [];
  const broken =
    status === undefined
      ? 'the connection to origin was lost'
      : `origin responded with HTTP status ${status}`;
  const failed = REF_OF_MIRROR.test(text) ? 'git could not update the mirror of origin; see the log' : broken;
  const otherwise = isLate ? 'origin did not respond in time' : failed;
  return new OriginUnavailable(known ?? otherwise, { isSent, isLate }, error);
}

/** Printed when a branch that was fetched cannot be stored; the same line of origin begins with `remote:`. */
const REF_OF_MIRROR = /^error: cannot (?:lock|update) ref '/m;

/** Lines in which origin reports a problem, which is one of its own machine. */
const OF_ORIGIN = /^(?:remote: |fatal: remote error: ).*$/gm;
