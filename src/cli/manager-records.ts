import { DESCRIPTORS } from '../desired/kinds.ts';
import { HoldfastError, messageOf } from '../errors.ts';
import { type Kind, NAME_PATTERN } from '../protocol/name.ts';
import { isMapValue } from '../protocol/values.ts';
import { printable } from '../text/printable.ts';

/** A running manager with API v2. */
export interface ManagerAddress {
  /** Its address, without a slash at the end. */
  base: string;
  credentials: { user: string; password: string } | null;
}

/** A manager's records of objects, by kind and name; null for a name that is not valid here, which is not requested. */
export type ManagerRecords = Readonly<Record<Kind, ReadonlyMap<string, Record<string, unknown> | null>>>;

/** Is called after each batch of objects with how many of a kind are read. */
export type OnRead = (kind: Kind, done: number, total: number) => void;

/** How many objects are requested at the same time. */
const CONCURRENCY = 8;
/** Time limit of a request, in milliseconds. */
const TIME_LIMIT = 60_000;

/**
 * Reads every app and device group. Rejects if any of them cannot be read: as `invalid` if the address or the
 * credentials are wrong, as `unavailable` if trying again can help.
 */
export async function readManager(manager: ManagerAddress, onRead: OnRead): Promise<ManagerRecords> {
  const app = await readKind(manager, 'app', onRead);
  return { app, device_group: await readKind(manager, 'device_group', onRead) };
}

async function readKind(manager: ManagerAddress, kind: Kind, onRead: OnRead): Promise<ManagerRecords[Kind]> {
  const path = DESCRIPTORS[kind].collection;
  const { [path]: names } = await readRecord(manager, path);
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw unexpectedResponse(manager, path);
  const records = new Map<string, Record<string, unknown> | null>();
  for (let start = 0; start < names.length; start += CONCURRENCY) {
    const batch = names.slice(start, start + CONCURRENCY).map(async (name: string) => {
      const record = NAME_PATTERN.test(name) ? await readRecord(manager, `${path}/${name}`) : null;
      return [name, record] as const;
    });
    for (const [name, record] of await Promise.all(batch)) records.set(name, record);
    onRead(kind, records.size, names.length);
  }
  return records;
}

async function readRecord(manager: ManagerAddress, path: string): Promise<Record<string, unknown>> {
  const response = await request(manager, path);
  if (response.status !== 200) throw refusal(manager, path, response);
  const text = await response.text().catch((error: Error) => {
    throw unreachableError(manager, error);
  });
  const record = parsed(text);
  if (!isMapValue(record)) throw unexpectedResponse(manager, path);
  return record;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/**
 * Sends a GET request. Redirects are not followed, because `fetch` drops the credentials on the way to another server.
 */
async function request(manager: ManagerAddress, path: string): Promise<Response> {
  const { base, credentials } = manager;
  const token = credentials && Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64');
  const headers: Record<string, string> = token === null ? {} : { authorization: `Basic ${token}` };
  const signal = AbortSignal.timeout(TIME_LIMIT);
  try {
    return await fetch(`${base}/api/v2/${path}`, { headers, redirect: 'manual', signal });
  } catch (error) {
    throw unreachableError(manager, error as Error);
  }
}

/** The error for a connection that fails, also in the middle of a response. */
function unreachableError({ base }: ManagerAddress, error: Error): HoldfastError {
  const { cause = error } = error;
  const reason = (cause as NodeJS.ErrnoException).code ?? messageOf(cause);
  return new HoldfastError(
    'unavailable',
    `${base} cannot be reached: ${reason}; nothing was written`,
    {},
    error,
  );
}

/** What to check for each status that trying again does not change. */
const HINTS: Readonly<Record<number, string>> = {
  401: '; BASIC_AUTH_USER and BASIC_AUTH_PASSWORD must be those of an account of that manager',
  403: '; that account may not read it, or it was deleted just now',
  404: '; is there a manager with API v2?',
};

function refusal({ base }: ManagerAddress, path: string, { status, headers }: Response): HoldfastError {
  const location = headers.get('location');
  const hint = location === null ? HINTS[status] : `, and redirects to ${printableLocation(location)}`;
  const kind = hint === undefined ? 'unavailable' : 'invalid';
  return new HoldfastError(
    kind,
    `${base}/api/v2/${path} answered ${status}${hint ?? ''}; nothing was written`,
  );
}

/** Removes the credentials and escapes the control characters in an address that the server sent. */
function printableLocation(location: string): string {
  return printable(location.replace(/\/\/[^/?#]*@/, '//'));
}

function unexpectedResponse({ base }: ManagerAddress, path: string): HoldfastError {
  const message = `${base}/api/v2/${path} is not the response of a manager with API v2; nothing was written`;
  return new HoldfastError('invalid', message);
}
