import type { FastifyReply, FastifyRequest } from 'fastify';
import { absent } from '../change/refusals.ts';
import type { Write, WriteContext, Writer } from '../change/write.ts';
import { type Kind, NAME_PATTERN, NAME_RULE } from '../desired/name.ts';
import { HoldfastError } from '../errors.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Recorder } from '../reconcile/record/recorder.ts';
import { tagsOf } from '../store/if-match.ts';
import type {
  AtRevision,
  ObjectReads,
  OperationContext,
  OperationStore,
  Reachable,
  ReportStore,
  StoredObject,
  StoreProgress,
} from '../store/store.ts';
import type { User } from './access/authentication.ts';
import { ifMatchIn, isUnchanged, sendUnchanged } from './conditions.ts';
import type { InfoCache } from './info/cache.ts';
import { objectRecord } from './records.ts';

/** Figures for monitoring. */
export interface Metrics {
  /** `route` is what the route was registered as. */
  countRequest(method: string, route: string, status: number): void;
  /** A function that counts requests of one kind, for the hot path: the kind is looked up once. */
  requestCounter(method: string, route: string, status: number): () => void;
  /** All figures in the text format of Prometheus, with its content type. */
  render(): Promise<{ type: string; text: string }>;
}

/** What the routes work with. */
export interface Api {
  store: ObjectReads & OperationStore & ReportStore & StoreProgress & Reachable;
  writer: Writer;
  reconciler: Reconciler;
  recorder: Pick<Recorder, 'status'>;
  info: InfoCache;
  metrics: Metrics;
  /** Milliseconds that a request waits for a pass. */
  patience: number;
  /** Unix milliseconds. */
  now(): number;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent the request; set for every route that needs credentials. */
    user: User;
    /** Why the repository does not allow what was asked for (409), for the log; null otherwise. */
    refusal: string | null;
  }
}

/** Routes whose replies name the applied revision. */
export const TELLS_REVISION = /^\/api\/v2\/(apps|device_groups|prune|reports)\b/;

/** The header that names the applied revision (decisions, "Writes through the API"). */
export const REVISION_HEADER = 'holdfast-revision';

/** Parameters in paths, by kind. */
export const NAME_PARAMETERS: Readonly<Record<Kind, string>> = {
  app: 'app_name',
  device_group: 'device_group_name',
};

/** The name in the path. Throws the 400 of a text that cannot be a name. */
export function nameIn(request: FastifyRequest, kind: Kind): string {
  const parameter = NAME_PARAMETERS[kind];
  const name = (request.params as Record<string, string>)[parameter] ?? '';
  if (NAME_PATTERN.test(name)) return name;
  throw new HoldfastError('invalid', NAME_RULE, { invalid_parameters: { [parameter]: NAME_RULE } });
}

/** Sends what was read, and names the revision that was applied when it was read. */
export function send(
  reply: FastifyReply,
  status: number,
  revision: string | null,
  body: unknown,
): FastifyReply {
  return withRevision(reply, revision).code(status).send(body);
}

/** Sends an app or a device group as it was read, with its ETag, unless whoever reads it has it already. */
export function sendObject(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  { value, revision }: AtRevision<StoredObject>,
): FastifyReply {
  const [etag] = tagsOf(value);
  if (isUnchanged(request, etag))
    return sendUnchanged(request, withRevision(reply, revision).header('etag', etag));
  return send(reply.header('etag', etag), status, revision, objectRecord(value));
}

/** Names the applied revision in a reply; nothing where there is none. */
export function withRevision(reply: FastifyReply, revision: string | null): FastifyReply {
  return revision === null ? reply : reply.header(REVISION_HEADER, revision);
}

/** Takes the value out of what was read; throws the 403 where there is none. */
export function found<T>({ value, revision }: AtRevision<T | null>, kind: Kind, name: string): AtRevision<T> {
  if (value === null) throw absent(kind, name);
  return { value, revision };
}

/** Makes a change of an object; resolves to the object as it is right after. Throws as `Writer.write`. */
export async function writeObject(
  { writer }: Api,
  request: FastifyRequest,
  write: Write,
): Promise<AtRevision<StoredObject>> {
  const { object } = await writer.write(write, writeContext(request, write.op));
  return found(object, write.kind, write.name);
}

/**
 * Who asks for a write, and under which condition. Before a create there is no object, so no `If-Match` holds, not even `*`
 * (RFC 9110, 13.1.1).
 */
export function writeContext(request: FastifyRequest, op: Write['op']): WriteContext {
  const { user, id } = request;
  const isConditional = request.headers['if-match'] !== undefined;
  const ifMatch = op === 'create' && isConditional ? [] : ifMatchIn(request);
  return { user: user.name, email: user.email, requestId: id, ifMatch };
}

/** Who asks for an operation. `now` is Unix milliseconds. */
export function operationContext(request: FastifyRequest, now: number): OperationContext {
  return { actor: request.user.name, requestId: request.id, at: now };
}
