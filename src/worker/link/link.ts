import { Agent as HttpAgent, type IncomingHttpHeaders } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { type AskAnswer, WaitingAsks } from '../../protocol/ask.ts';
import {
  ASKS_HEADER,
  CONFLICT_HEADER,
  DEVICE_HEADER,
  GROUP_HEADER,
  INSTANCE_HEADER,
} from '../../protocol/poll.ts';
import type { WorkerReport } from '../../protocol/report.ts';
import { printable } from '../../text/printable.ts';
import { bodyOf, codeOf, exchange, HttpError } from '../http.ts';
import { checkedReply, type InfoReply } from './info-reply.ts';
import { retryAfterOf } from './retry-after.ts';
import { reasonOf } from './trouble-text.ts';

/** What a poll found. */
export type PollResult =
  /** What the manager wants has not changed. */
  | { kind: 'unchanged' }
  | { kind: 'new'; reply: InfoReply }
  /** The manager says that it has no such device group. */
  | { kind: 'group-gone' }
  /** Another worker, of this instance, polls under the name of this one. */
  | { kind: 'two-workers'; rival: string }
  /** Anything else. Containers stay as they are. */
  | PollTrouble;

export interface PollTrouble {
  kind: 'trouble';
  code: 'manager-unavailable' | 'bad-reply';
  /** For people; without credentials. */
  text: string;
  /** Seconds that the manager asks for before the next poll; null if it does not. */
  retryAfter: number | null;
}

/** How sending a report ended. `refused`: the manager will never take it; `failed`: try again later. */
export type SendResult = 'accepted' | 'refused' | 'failed';

/** The worker's way to its manager. */
export interface ManagerLink {
  /**
   * Polls once. `newest` is the ETag of the last reply that was accepted, `done` the one whose work is done; null before.
   * Rejects only if the signal is aborted.
   */
  poll(tags: { newest: string | null; done: string | null }, signal: AbortSignal): Promise<PollResult>;
  /** Sends a report. Rejects only if the signal is aborted. */
  send(report: WorkerReport, signal: AbortSignal): Promise<SendResult>;
  /** How many asks wait, as the last reply to a poll says. */
  asksWaiting(): number;
  /** Resolves to the asks that wait; none if they cannot be read. Rejects only if the signal is aborted. */
  readAsks(signal: AbortSignal): Promise<WaitingAsks['asks']>;
  /** Answers one. What the manager says to that changes nothing. Rejects only if the signal is aborted. */
  answerAsk(id: string, answer: AskAnswer, signal: AbortSignal): Promise<void>;
  /** Ends the connection. */
  close(): void;
}

export interface LinkSettings {
  /** Address of the manager, without a slash at its end; may have a path. */
  manager: string;
  group: string;
  /** Returns the name of this device; null while it is not known. */
  device(): string | null;
  /** Returns what tells this worker from others of its name; null if it is not to be told. */
  instance(): string | null;
  credentials: { user: string; password: string } | null;
  /** Certificates of the authorities to trust, in PEM; null for those of Node. */
  ca: string | null;
  /** Seconds. */
  requestTimeout: number;
  /** Unix milliseconds. */
  now(): number;
}

/** Bytes of a reply that are read at most: far more than the largest group has. */
const LARGEST_REPLY = 16 * 1024 * 1024;
/** Bytes of the reply to a report, which nobody reads. */
const LARGEST_ANSWER = 64 * 1024;

/** A reply, read to its end. */
interface Reply {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

interface Request {
  method: 'GET' | 'POST';
  /** Below the address of the manager. */
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Bytes of the reply at most. */
  most: number;
}

type Ask = (request: Request, signal: AbortSignal) => Promise<Reply>;

/** Creates a link. It has one connection, which is kept between requests; nothing is sent before the first call. */
export function createLink(settings: LinkSettings): ManagerLink {
  const { manager, ca, requestTimeout: limit } = settings;
  const kept = { keepAlive: true, maxSockets: 1 };
  const agent = manager.startsWith('https:')
    ? new HttpsAgent({ ...kept, ...(ca !== null && { ca }) })
    : new HttpAgent(kept);
  const ask: Ask = ({ method, path, headers, body, most }, signal) =>
    exchange(
      {
        to: manager + path,
        method,
        headers: { ...headers, ...ownHeaders(settings) },
        body,
        agent,
        limit,
        signal,
      },
      async (response) => ({
        status: response.statusCode ?? 0,
        headers: response.headers,
        body: (await bodyOf(response, most)).toString('utf8'),
      }),
    );
  let waiting = 0;
  const heard: Ask = async (request, signal) => {
    const reply = await ask(request, signal);
    waiting = Number(reply.headers[ASKS_HEADER] ?? 0) || 0;
    return reply;
  };
  return {
    poll: (tags, signal) => poll(settings, heard, tags, signal),
    send: (report, signal) => send(ask, report, signal),
    asksWaiting: () => waiting,
    readAsks: (signal) => readAsks(settings, ask, signal),
    answerAsk: (id, answer, signal) => answerAsk(settings, ask, id, answer, signal),
    close: () => agent.destroy(),
  };
}

function ownHeaders({ device, instance, credentials }: LinkSettings): Record<string, string> {
  const name = device();
  const number = instance();
  const account = credentials === null ? '' : `${credentials.user}:${credentials.password}`;
  return {
    ...(name !== null && { [DEVICE_HEADER]: name }),
    ...(number !== null && { [INSTANCE_HEADER]: number }),
    ...(credentials !== null && { authorization: `Basic ${Buffer.from(account).toString('base64')}` }),
  };
}

async function poll(
  settings: LinkSettings,
  ask: Ask,
  tags: { newest: string | null; done: string | null },
  signal: AbortSignal,
): Promise<PollResult> {
  const ifNoneMatch = ifNoneMatchOf(tags);
  const path = `/api/v2/device_groups/${encodeURIComponent(settings.group)}/info`;
  const headers = {
    accept: 'application/json',
    ...(ifNoneMatch !== null && { 'if-none-match': ifNoneMatch }),
  };
  try {
    const reply = await ask({ method: 'GET', path, headers, most: LARGEST_REPLY }, signal);
    return redirectOf(reply, path, settings) ?? resultOf(reply, settings, ifNoneMatch !== null);
  } catch (error) {
    signal.throwIfAborted();
    return troubleOf(error, settings);
  }
}

/** What came cannot be from a manager, or ended before its end; the parser of Node has codes such as HPE_INVALID_CONSTANT. */
function troubleOf(error: unknown, settings: LinkSettings): PollTrouble {
  const code = codeOf(error);
  const { message, errors } = error as AggregateError;
  const first = (errors as Error[] | undefined)?.[0];
  const isNonsense = error instanceof HttpError ? error.reason !== 'timeout' : code.startsWith('HPE_');
  const text = reasonOf(message || first?.message || code, code, settings);
  return trouble(isNonsense ? 'bad-reply' : 'manager-unavailable', text);
}

/** The other statuses from 300 on lead nowhere else; a 304 with an address is still what it says. */
const REDIRECTS: readonly number[] = [301, 302, 303, 307, 308];

/** Not followed: somebody in between could send a device, with its credentials, to a server of their own. */
function redirectOf(
  { status, headers: { location } }: Reply,
  path: string,
  { manager }: LinkSettings,
): PollTrouble | null {
  if (!REDIRECTS.includes(status) || location === undefined) return null;
  const target = URL.canParse(location, manager + path) ? new URL(location, manager + path).href : location;
  const address = shown(target.endsWith(path) ? target.slice(0, -path.length) : target);
  const text = `${manager}: it redirects to ${address}, which is not followed; if that is the manager, set MANAGER to it`;
  return trouble('bad-reply', text);
}

/**
 * The last tag is what this device has: the one whose work is done, so that the manager knows who is behind. With the
 * newest before it, a device that cannot finish does not load the same reply at each poll.
 */
function ifNoneMatchOf({ newest, done }: { newest: string | null; done: string | null }): string | null {
  if (newest === null) return null;
  return newest === done ? newest : `${newest}, ${done ?? '"none"'}`;
}

function resultOf(reply: Reply, settings: LinkSettings, hasTags: boolean): PollResult {
  const { status, headers } = reply;
  const rival = headers[CONFLICT_HEADER];
  if (rival !== undefined) return { kind: 'two-workers', rival: shown(String(rival)) };
  const group = headers[GROUP_HEADER];
  if (group !== undefined && String(group) !== settings.group)
    return trouble(
      'bad-reply',
      `the reply is for the device group "${shown(String(group))}", not "${settings.group}"`,
    );
  if (status === 200) {
    const checked = checkedReply(reply.body, headers);
    return 'problem' in checked ? trouble('bad-reply', checked.problem) : { kind: 'new', reply: checked };
  }
  if (status === 304 && hasTags) return { kind: 'unchanged' };
  if (status === 403 && saysGroupIsGone(reply.body)) return { kind: 'group-gone' };
  const retryAfter = status === 429 || status === 503 ? retryAfterOf(headers, settings.now()) : null;
  return trouble('manager-unavailable', textOfStatus(reply), retryAfter);
}

function trouble(code: PollTrouble['code'], text: string, retryAfter: number | null = null): PollTrouble {
  return { kind: 'trouble', code, text, retryAfter };
}

function saysGroupIsGone(body: string): boolean {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === 'object' && value !== null && Object.entries(value).some(isAbsentGroup);
  } catch {
    return false;
  }
}

function isAbsentGroup([key, value]: [string, unknown]): boolean {
  return key === 'device_group_exists' && value === false;
}

/** Characters of a reply that are shown. */
const SHOWN = 200;

function shown(text: string): string {
  return printable(text.slice(0, SHOWN));
}

function textOfStatus({ status, body, headers }: Reply): string {
  if (status === 401)
    return 'the manager refuses the credentials (401); check DEVICE_AUTH_USER and DEVICE_AUTH_PASSWORD';
  const isPage = headers['content-type']?.includes('html') === true;
  const said = isPage ? '' : shown(body.trim());
  return `the manager answers ${status}${said === '' ? '' : `: ${said}`}`;
}

async function send(ask: Ask, report: WorkerReport, signal: AbortSignal): Promise<SendResult> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify(report);
  try {
    const request = { method: 'POST', path: '/api/v2/reports', headers, body, most: LARGEST_ANSWER } as const;
    const { status } = await ask(request, signal);
    if (status >= 200 && status < 300) return 'accepted';
    return status === 400 || status === 413 ? 'refused' : 'failed';
  } catch {
    signal.throwIfAborted();
    return 'failed';
  }
}

async function readAsks(settings: LinkSettings, ask: Ask, signal: AbortSignal): Promise<WaitingAsks['asks']> {
  try {
    const request = { method: 'GET', path: asksPath(settings), headers: {}, most: LARGEST_ANSWER } as const;
    const { status, body } = await ask(request, signal);
    const read = status === 200 ? WaitingAsks.safeParse(JSON.parse(body)) : null;
    return read?.data?.asks ?? [];
  } catch {
    signal.throwIfAborted();
    return [];
  }
}

async function answerAsk(
  settings: LinkSettings,
  ask: Ask,
  id: string,
  answer: AskAnswer,
  signal: AbortSignal,
): Promise<void> {
  const path = `${asksPath(settings)}/${encodeURIComponent(id)}`;
  const headers = { 'content-type': 'application/json' };
  try {
    await ask({ method: 'POST', path, headers, body: JSON.stringify(answer), most: LARGEST_ANSWER }, signal);
  } catch {
    // The manager asks again while it waits.
    signal.throwIfAborted();
  }
}

function asksPath({ device }: LinkSettings): string {
  return `/api/v2/devices/${encodeURIComponent(device() ?? '')}/asks`;
}
