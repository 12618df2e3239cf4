import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../../accounts/authenticator.ts';
import { asDevice, authorize, type Principal } from '../../accounts/principal.ts';
import { DEVICE_HEADER, GROUP_HEADER, INSTANCE_HEADER } from '../../protocol/poll.ts';
import type { ServesHost } from '../access/hosts.ts';
import type { Api } from '../api.ts';
import { matchesIfNoneMatch } from '../conditions.ts';
import { bodyOfDevice, type DeviceEntry } from '../info/devices.ts';
import type { InfoEntry } from '../info/entries.ts';
import { JSON_TYPE, NO_SNIFFING } from '../json.ts';
import { interceptRequests } from '../protocol/connections.ts';
import { createRequestIds, REQUEST_ID } from '../request/request-id.ts';
import { REVISION_HEADER } from '../revision.ts';
import { DEVICE_INFO_ROUTE } from './device-info.ts';
import { INFO_ROUTE } from './info.ts';

/** What the shortcut needs. */
export interface ShortcutParts {
  api: Pick<Api, 'info' | 'deviceInfos' | 'fleet' | 'metrics'>;
  authenticator: Authenticator;
  servesHost: ServesHost;
  /** Whether every request is logged. If so, fastify answers all of them, because it writes the log. */
  logsRequests(): boolean;
}

/**
 * Answers usual polls before fastify sees them: those for a group whose reply is ready, with credentials that were
 * accepted a short time ago. Fastify answers requests that are unusual in any way. The replies are the same, byte for byte.
 */
export function useInfoShortcut(app: FastifyInstance, parts: ShortcutParts): void {
  const answer = createAnswer(parts);
  let isClosing = false;
  app.addHook('preClose', async () => {
    isClosing = true;
  });
  interceptRequests(app.server, (request, response) => !isClosing && answer(request, response));
}

/** A reply that is ready: that of a group, or that of one of its devices. */
interface Found {
  base: InfoEntry;
  revision: string;
  own: DeviceEntry | null;
  device: string | undefined;
  count: Readonly<Record<200 | 304, () => void>>;
}

function foundOf(
  base: InfoEntry,
  own: Found['own'],
  device: Found['device'],
  count: Found['count'],
): Found | null {
  return base.revision === null ? null : { base, revision: base.revision, own, device, count };
}

/** Answers a request if it is a usual poll; returns whether it did. */
function createAnswer({ api, authenticator, servesHost, logsRequests }: ShortcutParts) {
  const { info, deviceInfos, fleet, metrics } = api;
  const newRequestId = createRequestIds();
  const counter = (route: string) => ({
    200: metrics.requestCounter('GET', route, 200),
    304: metrics.requestCounter('GET', route, 304),
  });
  const counts = { group: counter(INFO_ROUTE), device: counter(DEVICE_INFO_ROUTE) };

  /** Returns who polls the group; null if that needs a closer look. */
  const admit = (headers: PollHeaders | null, group: string): Principal | null => {
    if (headers === null || !servesHost(headers.host)) return null;
    const account = authenticator.recall(headers.authorization);
    const principal = account && asDevice(account, headers.device);
    return principal && authorize(principal, 'poll', [{ kind: 'device_group', name: group }])
      ? principal
      : null;
  };

  const find = (url: string): Found | null => {
    const group = groupIn(url);
    if (group !== null) {
      const base = info.ready(group);
      return base && foundOf(base, null, undefined, counts.group);
    }
    const polled = deviceIn(url);
    const own = polled && deviceInfos.ready(polled.name, polled.asked);
    return own && foundOf(own.base, own, polled?.name, counts.device);
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' || logsRequests()) return false;
    const found = find(request.url ?? '');
    if (found === null) return false;
    const { base: entry, revision, own, count } = found;
    const headers = plainHeaders(request.rawHeaders);
    const principal = admit(headers, entry.group);
    if (headers === null || principal === null) return false;
    const { ifNoneMatch, instance, requestId = newRequestId() } = headers;
    const { group: name } = entry;
    const etag = own?.etag ?? entry.etag;
    const device = found.device ?? principal.device;
    const more = fleet.onPoll({ device, access: 'shared', group: name, ifNoneMatch, instance, etag });
    count[reply(response, entry, revision, { own, etag, ifNoneMatch, requestId, more })]();
    return true;
  };
}

const [BEFORE_GROUP = '', AFTER_GROUP = ''] = INFO_ROUTE.split(/:\w+/);

/** Returns the part of a URL that names the group, unchecked: only names of groups have a reply that is ready. */
function groupIn(url: string): string | null {
  if (!url.startsWith(BEFORE_GROUP) || !url.endsWith(AFTER_GROUP)) return null;
  return url.slice(BEFORE_GROUP.length, -AFTER_GROUP.length);
}

const [BEFORE_DEVICE = '', AFTER_DEVICE = ''] = DEVICE_INFO_ROUTE.split(/:\w+/);
const DEVICE_URL = /^([A-Za-z0-9._-]+)\/info(?:\?device_group=([A-Za-z0-9._-]+))?$/;

/** Returns the device in a URL, and the group that it asks for; null if it is another one, or an unusual one. */
function deviceIn(url: string): { name: string; asked: string | undefined } | null {
  if (!url.startsWith(BEFORE_DEVICE) || !url.includes(AFTER_DEVICE)) return null;
  const [, name, asked] = DEVICE_URL.exec(url.slice(BEFORE_DEVICE.length)) ?? [];
  return name === undefined ? null : { name, asked };
}

function reply(
  response: ServerResponse,
  entry: InfoEntry,
  revision: string,
  { own, etag, ifNoneMatch, requestId, more }: PollReply,
): 200 | 304 {
  // Each list is a single literal: an array that grows would be copied.
  if (matchesIfNoneMatch(ifNoneMatch, etag)) {
    const head = [
      REVISION_HEADER,
      revision,
      GROUP_HEADER,
      entry.group,
      'etag',
      etag,
      'x-request-id',
      requestId,
      NO_SNIFFING[0],
      NO_SNIFFING[1],
    ];
    response.writeHead(304, more.length === 0 ? head : [...head, ...more]).end();
    return 304;
  }
  const body = own === null ? entry.body : bodyOfDevice(own);
  const head = [
    REVISION_HEADER,
    revision,
    GROUP_HEADER,
    entry.group,
    'etag',
    etag,
    'content-type',
    JSON_TYPE,
    'x-request-id',
    requestId,
    NO_SNIFFING[0],
    NO_SNIFFING[1],
    'content-length',
    String(body.length),
  ];
  response.writeHead(200, more.length === 0 ? head : [...head, ...more]).end(body);
  return 200;
}

/** What differs from poll to poll. `own` is the reply for a single device. */
interface PollReply {
  own: DeviceEntry | null;
  etag: string;
  ifNoneMatch: string | undefined;
  requestId: string;
  more: readonly string[];
}

/** The headers that determine the reply to a poll. */
interface PollHeaders {
  host: string | undefined;
  authorization: string | undefined;
  ifNoneMatch: string | undefined;
  device: string | undefined;
  instance: string | undefined;
  requestId: string | undefined;
}

/** Returns the headers of a usual poll; null if a header is unusual, or if one of these occurs twice. */
function plainHeaders(raw: readonly string[]): PollHeaders | null {
  const found: PollHeaders = {
    host: undefined,
    authorization: undefined,
    ifNoneMatch: undefined,
    device: undefined,
    instance: undefined,
    requestId: undefined,
  };
  for (let index = 0; index < raw.length; index += 2) {
    const field = fieldOf((raw[index] ?? '').toLowerCase());
    if (field === null) continue;
    const value = raw[index + 1] ?? '';
    if (field === 'unusual' || found[field] !== undefined) return null;
    if (field === 'requestId' && !REQUEST_ID.test(value)) return null;
    found[field] = value;
  }
  return found.host === undefined ? null : found;
}

/** A `switch`, because it compares lengths first; a map would hash the name of every header that arrives. */
function fieldOf(name: string): keyof PollHeaders | 'unusual' | null {
  switch (name) {
    case 'host':
      return 'host';
    case 'authorization':
      return 'authorization';
    case 'if-none-match':
      return 'ifNoneMatch';
    case DEVICE_HEADER:
      return 'device';
    case INSTANCE_HEADER:
      return 'instance';
    case 'x-request-id':
      return 'requestId';
    // A usual poll has no body, does not come from a web page, and does not change the protocol.
    case 'content-length':
    case 'transfer-encoding':
    case 'origin':
    case 'expect':
    case 'upgrade':
      return 'unusual';
    default:
      return null;
  }
}
