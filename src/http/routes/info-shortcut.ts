import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyInstance } from 'fastify';
import type { Authenticator } from '../../accounts/authenticator.ts';
import { asDevice, authorize, type Principal } from '../../accounts/principal.ts';
import { DEVICE_HEADER, GROUP_HEADER, INSTANCE_HEADER } from '../../protocol/poll.ts';
import type { ServesHost } from '../access/hosts.ts';
import type { Api } from '../api.ts';
import { matchesIfNoneMatch } from '../conditions.ts';
import type { InfoEntry } from '../info/entries.ts';
import { JSON_TYPE, NO_SNIFFING } from '../json.ts';
import { interceptRequests } from '../protocol/connections.ts';
import { createRequestIds, REQUEST_ID } from '../request/request-id.ts';
import { REVISION_HEADER } from '../revision.ts';
import { INFO_ROUTE } from './info.ts';

/** What the shortcut needs. */
export interface ShortcutParts {
  api: Pick<Api, 'info' | 'fleet' | 'metrics'>;
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

/** Answers a request if it is a usual poll; returns whether it did. */
function createAnswer({ api, authenticator, servesHost, logsRequests }: ShortcutParts) {
  const { info, fleet, metrics } = api;
  const newRequestId = createRequestIds();
  const count = {
    200: metrics.requestCounter('GET', INFO_ROUTE, 200),
    304: metrics.requestCounter('GET', INFO_ROUTE, 304),
  };

  /** Returns who polls the group; null if that needs a closer look. */
  const admit = (headers: PollHeaders | null, group: string): Principal | null => {
    if (headers === null || !servesHost(headers.host)) return null;
    const account = authenticator.recall(headers.authorization);
    const principal = account && asDevice(account, headers.device);
    return principal && authorize(principal, 'poll', [{ kind: 'device_group', name: group }])
      ? principal
      : null;
  };

  return (request: IncomingMessage, response: ServerResponse): boolean => {
    if (request.method !== 'GET' || logsRequests()) return false;
    const group = groupIn(request.url ?? '');
    const entry = group === null ? null : info.ready(group);
    if (entry === null || entry.revision === null) return false;
    const headers = plainHeaders(request.rawHeaders);
    const principal = admit(headers, entry.group);
    if (headers === null || principal === null) return false;
    const { ifNoneMatch, instance, requestId = newRequestId() } = headers;
    const { group: name, etag } = entry;
    const { device } = principal;
    const more = fleet.onPoll({ device, access: 'shared', group: name, ifNoneMatch, instance, etag });
    count[reply(response, entry, entry.revision, { ifNoneMatch, requestId, more })]();
    return true;
  };
}

const [BEFORE_GROUP = '', AFTER_GROUP = ''] = INFO_ROUTE.split(/:\w+/);

/** Returns the part of a URL that names the group, unchecked: only names of groups have a reply that is ready. */
function groupIn(url: string): string | null {
  if (!url.startsWith(BEFORE_GROUP) || !url.endsWith(AFTER_GROUP)) return null;
  return url.slice(BEFORE_GROUP.length, -AFTER_GROUP.length);
}

function reply(
  response: ServerResponse,
  entry: InfoEntry,
  revision: string,
  {
    ifNoneMatch,
    requestId,
    more,
  }: { ifNoneMatch: string | undefined; requestId: string; more: readonly string[] },
): 200 | 304 {
  // Each list is a single literal: an array that grows would be copied.
  if (matchesIfNoneMatch(ifNoneMatch, entry.etag)) {
    const head = [
      REVISION_HEADER,
      revision,
      GROUP_HEADER,
      entry.group,
      'etag',
      entry.etag,
      'x-request-id',
      requestId,
      NO_SNIFFING[0],
      NO_SNIFFING[1],
    ];
    response.writeHead(304, more.length === 0 ? head : [...head, ...more]).end();
    return 304;
  }
  const head = [
    REVISION_HEADER,
    revision,
    GROUP_HEADER,
    entry.group,
    'etag',
    entry.etag,
    'content-type',
    JSON_TYPE,
    'x-request-id',
    requestId,
    NO_SNIFFING[0],
    NO_SNIFFING[1],
    'content-length',
    String(entry.body.length),
  ];
  response.writeHead(200, more.length === 0 ? head : [...head, ...more]).end(entry.body);
  return 200;
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
