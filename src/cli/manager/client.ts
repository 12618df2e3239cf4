import { HoldfastError, messageOf } from '../../errors.ts';
import { printable } from '../../text/printable.ts';

/** A running manager with API v2. */
export interface ManagerAddress {
  /** Its address, without a slash at the end. */
  base: string;
  /** The variable or the file that it comes from; null if the command line names it. */
  namedBy: string | null;
  credentials: SentCredentials | null;
}

/** What a manager knows an account by. */
export interface ManagerCredentials {
  /** The header; secret. */
  authorization: string;
}

/** Credentials, and where the user gave them, for messages. */
export interface SentCredentials extends ManagerCredentials {
  from: string;
}

/** Where credentials can be given, for messages. */
export const CREDENTIALS_HINT =
  'CREDENTIALS (user:password), HOLDFAST_TOKEN, --token-file or ~/.config/holdfast.yaml';

/** Returns the credentials of a name and password. */
export function basic(user: string, password: string): ManagerCredentials {
  return { authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` };
}

/** Returns the credentials of a token. */
export function bearer(token: string): ManagerCredentials {
  return { authorization: `Bearer ${token}` };
}

/** The reply of a manager. */
export interface ManagerReply {
  status: number;
  /** Where it redirects to; null if it does not. */
  location: string | null;
  /** The parsed body; null if it is not JSON. */
  body: unknown;
}

/** Time limit of a request, in milliseconds. */
const TIME_LIMIT = 60_000;

/** Returns the address of a manager as messages show it: with where it comes from, if that is not the command line. */
export function shownAddress({ base, namedBy }: Pick<ManagerAddress, 'base' | 'namedBy'>, path = ''): string {
  return `${base}${path}${namedBy === null ? '' : ` (${namedBy})`}`;
}

/** Returns an address without the slashes at its end; null if it is not one of a server, or has credentials in it. */
export function parseAddress(text: string): string | null {
  const base = text.replace(/(?<!\/)\/+$/, '');
  return /^https?:\/\/[^\s@?#]+$/i.test(base) && URL.canParse(base) ? base : null;
}

/**
 * Sends a GET request for a path below `/api/v2/`; any status resolves. Rejects as `unavailable` if there is no answer. Redirects
 * are not followed, because `fetch` drops the credentials on the way to another server.
 */
export function getReply(manager: ManagerAddress, path: string): Promise<ManagerReply> {
  return sendRequest(manager, 'GET', path);
}

/** Sends a request as `getReply` does; with a body, as JSON. */
export async function sendRequest(
  manager: ManagerAddress,
  method: 'GET' | 'POST',
  path: string,
  body?: object,
): Promise<ManagerReply> {
  const { base, credentials } = manager;
  const headers: Record<string, string> = {
    ...(credentials !== null && { authorization: credentials.authorization }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const signal = AbortSignal.timeout(TIME_LIMIT);
  const sent = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    const response = await fetch(`${base}/api/v2/${path}`, {
      method,
      headers,
      redirect: 'manual',
      signal,
      ...sent,
    });
    const text = await response.text();
    return { status: response.status, location: response.headers.get('location'), body: parsed(text) };
  } catch (error) {
    throw unreachableError(manager, error as Error);
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The error for a connection that fails, also in the middle of a response. */
function unreachableError(manager: ManagerAddress, error: Error): HoldfastError {
  const { cause = error } = error;
  const reason = (cause as NodeJS.ErrnoException).code ?? messageOf(cause);
  const hint = manager.namedBy === null ? '' : '; with --desired-state FOLDER, no manager is asked';
  return new HoldfastError(
    'unavailable',
    `${shownAddress(manager)} cannot be reached: ${reason}${hint}`,
    {},
    error,
  );
}

/** Returns what is wrong with a reply that is not 200; `hints` say what to check, by status; that of 401 is known. */
export function refusalText(
  manager: ManagerAddress,
  path: string,
  { status, location }: ManagerReply,
  hints: Readonly<Record<number, string>>,
): string {
  const { credentials } = manager;
  const account =
    credentials === null
      ? `; set credentials in ${CREDENTIALS_HINT}`
      : `; it rejects the credentials of ${credentials.from}`;
  const advice = status === 401 ? account : (hints[status] ?? '');
  const hint = location === null ? advice : `, and redirects to ${printableLocation(location)}`;
  return `${shownAddress(manager, `/api/v2/${path}`)} answered ${status}${hint}`;
}

/** Removes the credentials and escapes the control characters in an address that the server sent. */
function printableLocation(location: string): string {
  return printable(location.replace(/\/\/[^/?#]*@/, '//'));
}

/** Returns what is wrong with a body that the manager of this path would not send. */
export function unexpectedText(manager: ManagerAddress, path: string): string {
  return `${shownAddress(manager, `/api/v2/${path}`)} is not the response of a manager with API v2`;
}
