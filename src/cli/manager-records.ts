import { type Kind, NAME_PATTERN } from '../desired/name.ts';
import { isMapValue } from '../desired/values.ts';
import { HoldfastError, messageOf } from '../errors.ts';
import { printable } from '../plan/printable.ts';

/** A running manager that speaks API v2: where it is, and what lets one in. */
export interface ManagerAddress {
  /** Without a slash at its end. */
  base: string;
  credentials: { user: string; password: string } | null;
}

/** What a manager says of each object, by kind and name; null where its name is none here, and it was not asked for. */
export type ManagerRecords = Readonly<Record<Kind, ReadonlyMap<string, Record<string, unknown> | null>>>;

/** Where objects of a kind are (contract, 4); their list is called the same. */
const PLACES: Readonly<Record<Kind, string>> = { app: 'apps', device_group: 'device_groups' };

/** Told how many objects of a kind are read, of how many. */
export type TellRead = (kind: Kind, done: number, total: number) => void;

/** How many objects are asked for at once, and the milliseconds that one reply may take. */
const AT_ONCE = 8;
const TIME_LIMIT = 60_000;

/**
 * Reads every app and device group. Rejects where one of them cannot be read: `invalid` if address or credentials are
 * wrong, `unavailable` if trying again may help.
 */
export async function readManager(manager: ManagerAddress, tell: TellRead): Promise<ManagerRecords> {
  const app = await readKind(manager, 'app', tell);
  return { app, device_group: await readKind(manager, 'device_group', tell) };
}

async function readKind(manager: ManagerAddress, kind: Kind, tell: TellRead): Promise<ManagerRecords[Kind]> {
  const place = PLACES[kind];
  const { [place]: names } = await readRecord(manager, place);
  if (!Array.isArray(names) || !names.every((name) => typeof name === 'string'))
    throw notUnderstood(manager, place);
  const records = new Map<string, Record<string, unknown> | null>();
  for (let start = 0; start < names.length; start += AT_ONCE) {
    const asked = names.slice(start, start + AT_ONCE).map(async (name: string) => {
      const record = NAME_PATTERN.test(name) ? await readRecord(manager, `${place}/${name}`) : null;
      return [name, record] as const;
    });
    for (const [name, record] of await Promise.all(asked)) records.set(name, record);
    tell(kind, records.size, names.length);
  }
  return records;
}

async function readRecord(manager: ManagerAddress, path: string): Promise<Record<string, unknown>> {
  const response = await ask(manager, path);
  if (response.status !== 200) throw refused(manager, path, response);
  const text = await response.text().catch((error: Error) => {
    throw unreachable(manager, error);
  });
  const record = parsed(text);
  if (!isMapValue(record)) throw notUnderstood(manager, path);
  return record;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Redirects are not followed: on the way to another server, credentials would be lost. */
async function ask(manager: ManagerAddress, path: string): Promise<Response> {
  const { base, credentials } = manager;
  const token = credentials && Buffer.from(`${credentials.user}:${credentials.password}`).toString('base64');
  const headers: Record<string, string> = token === null ? {} : { authorization: `Basic ${token}` };
  const signal = AbortSignal.timeout(TIME_LIMIT);
  try {
    return await fetch(`${base}/api/v2/${path}`, { headers, redirect: 'manual', signal });
  } catch (error) {
    throw unreachable(manager, error as Error);
  }
}

/** Also in the middle of a reply. */
function unreachable({ base }: ManagerAddress, error: Error): HoldfastError {
  const { cause = error } = error;
  const why = (cause as NodeJS.ErrnoException).code ?? messageOf(cause);
  return new HoldfastError(
    'unavailable',
    `${base} cannot be reached: ${why}; nothing was written`,
    {},
    error,
  );
}

/** What is wrong with address or account stays so. */
const WRONG: Readonly<Record<number, string>> = {
  401: '; BASIC_AUTH_USER and BASIC_AUTH_PASSWORD must be those of an account of that manager',
  403: '; that account may not read it, or it was deleted just now',
  404: '; is there a manager with API v2?',
};

function refused({ base }: ManagerAddress, path: string, { status, headers }: Response): HoldfastError {
  const location = headers.get('location');
  const hint = location === null ? WRONG[status] : `, and redirects to ${shown(location)}`;
  const kind = hint === undefined ? 'unavailable' : 'invalid';
  return new HoldfastError(
    kind,
    `${base}/api/v2/${path} answered ${status}${hint ?? ''}; nothing was written`,
  );
}

/** An address as that server gave it, which may have a password in it, or orders to a terminal. */
function shown(location: string): string {
  return printable(location.replace(/\/\/[^/?#]*@/, '//'));
}

function notUnderstood({ base }: ManagerAddress, path: string): HoldfastError {
  const message = `${base}/api/v2/${path} is not the response of a manager with API v2; nothing was written`;
  return new HoldfastError('invalid', message);
}
