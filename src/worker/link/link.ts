import type { WorkerReport } from '../../protocol/report.ts';
import { printable } from '../../text/printable.ts';
import { createRequests, type Reply, RequestError, type Requests } from './http-request.ts';
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

/** How sending reports ended. `refused`: the manager will never take these; `failed`: try again later. */
export type SendResult = 'accepted' | 'refused' | 'too-large' | 'failed';

/** The worker's way to its manager. */
export interface ManagerLink {
  /**
   * Polls once. `newest` is the ETag of the last reply that was accepted, `done` the one whose work is done; null before.
   * Rejects only if the signal is aborted.
   */
  poll(tags: { newest: string | null; done: string | null }, signal: AbortSignal): Promise<PollResult>;
  /** Sends reports in one request. Rejects only if the signal is aborted. */
  send(reports: readonly WorkerReport[], signal: AbortSignal): Promise<SendResult>;
  /** Ends the connection. */
  close(): void;
}

export interface LinkSettings {
  /** Address of the manager, without a slash at its end; may have a path. */
  manager: string;
  group: string;
  /** Returns the name of this device; null while it is not known. */
  device(): string | null;
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
/** Names the group of a reply, and in requests the device. */
const GROUP_HEADER = 'holdfast-device-group';
const DEVICE_HEADER = 'holdfast-device';

/** Creates a link. It has one connection, which is kept between requests; nothing is sent before the first call. */
export function createLink(settings: LinkSettings): ManagerLink {
  const requests = createRequests(settings);
  return {
    poll: (tags, signal) => poll(settings, requests, tags, signal),
    send: (reports, signal) => send(settings, requests, reports, signal),
    close: () => requests.close(),
  };
}

async function poll(
  settings: LinkSettings,
  requests: Requests,
  tags: { newest: string | null; done: string | null },
  signal: AbortSignal,
): Promise<PollResult> {
  const ifNoneMatch = ifNoneMatchOf(tags);
  try {
    const reply = await requests.send({
      method: 'GET',
      path: `/api/v2/device_groups/${encodeURIComponent(settings.group)}/info`,
      headers: {
        accept: 'application/json',
        ...deviceHeader(settings),
        ...(ifNoneMatch === null ? {} : { 'if-none-match': ifNoneMatch }),
      },
      limit: LARGEST_REPLY,
      signal,
    });
    return resultOf(reply, settings, ifNoneMatch !== null);
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RequestError)) throw error;
    return trouble(error.isNonsense ? 'bad-reply' : 'manager-unavailable', reasonOf(error, settings));
  }
}

/**
 * The last tag is what this device has: the one whose work is done, so that the manager knows who is behind. With the
 * newest before it, a device that cannot finish does not load the same reply at each poll.
 */
function ifNoneMatchOf({ newest, done }: { newest: string | null; done: string | null }): string | null {
  if (newest === null) return null;
  return newest === done ? newest : `${newest}, ${done ?? '"none"'}`;
}

function deviceHeader({ device }: LinkSettings): Record<string, string> {
  const name = device();
  return name === null ? {} : { [DEVICE_HEADER]: name };
}

function resultOf(reply: Reply, settings: LinkSettings, hasTags: boolean): PollResult {
  const { status, headers } = reply;
  const group = headers[GROUP_HEADER];
  if (group !== undefined && group !== settings.group)
    return trouble(
      'bad-reply',
      `the reply is for the device group "${shown(group)}", not "${settings.group}"`,
    );
  if (status === 200) {
    const checked = checkedReply(reply);
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

async function send(
  settings: LinkSettings,
  requests: Requests,
  reports: readonly WorkerReport[],
  signal: AbortSignal,
): Promise<SendResult> {
  try {
    const { status } = await requests.send({
      method: 'POST',
      path: '/api/v2/reports',
      headers: { 'content-type': 'application/json', ...deviceHeader(settings) },
      body: JSON.stringify(reports),
      limit: LARGEST_ANSWER,
      signal,
    });
    if (status >= 200 && status < 300) return 'accepted';
    if (status === 400) return 'refused';
    return status === 413 ? 'too-large' : 'failed';
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof RequestError)) throw error;
    return 'failed';
  }
}
