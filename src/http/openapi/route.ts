import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import * as z from 'zod';
import { type Action, isForDevices } from '../../accounts/principal.ts';
import { Name } from '../../protocol/name.ts';
import type { BodyRule } from '../request/fields.ts';
import { readQuery } from '../request/query.ts';
import { WriteOptions } from '../request/write-options.ts';
import { nameParameter, type RouteObject, type RouteProperties, routeRecord } from '../route-record.ts';
import { type ReplyDocs, writeErrors } from './replies.ts';

/** The groups into which the OpenAPI document sorts the routes. */
export const TAGS = {
  apps: 'Configure, start, stop and restart apps.',
  'device groups': 'Configure which apps the devices of a group run, and prune their images.',
  changes: 'Change several objects at once.',
  devices: 'The endpoint that devices poll.',
  reports: 'Reports from devices.',
  history: 'What changed, by whom and when; and the values before and after.',
  manager: 'The manager itself: probes, metrics, and how far it has followed git.',
} as const;
export type Tag = keyof typeof TAGS;

/**
 * Returns the schema of a body for the document, named `id`, including the fields that are ignored. A partial update needs one
 * of the others.
 */
export function bodyDocs({ schema, ignored, required }: BodyRule, id: string): z.ZodType {
  const field = z.unknown().optional().describe('Ignored.');
  const extended = schema.extend(Object.fromEntries(ignored.map((name) => [name, field])));
  // Generators of clients drop the types of a schema that has `anyOf`; they leave `not` to the server.
  return extended.meta({ id, ...(required === null && { not: { propertyNames: { enum: ignored } } }) });
}

export type Method = 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';

/** What a route is, and what the OpenAPI document states about it. `Q` is its parsed query. */
interface Route<Q> extends RouteProperties {
  /** Generated clients use it as the name of a method. */
  operationId: string;
  summary: string;
  tag: Tag;
  reply: readonly [status: number, reply: ReplyDocs];
  errors: Readonly<Record<number, ReplyDocs | z.ZodNull>>;
  /** The parameters of the path, if there is no `object`. */
  params?: z.ZodType;
  query?: z.ZodType<Q>;
  body?: z.ZodType;
}

type Handler<Q> = (request: FastifyRequest & { query: Q }, reply: FastifyReply) => unknown;
type ErrorHandler = NonNullable<RouteOptions['errorHandler']>;

/**
 * Describes a route, and returns what adds it to a server with its handler. The handler gets the query as its schema
 * reads it; a bad one is refused before. Whether a body is read, and when, is up to the handler.
 */
export function route<Q>(
  method: Method,
  url: string,
  spec: Route<Q>,
): (app: FastifyInstance, handler: Handler<Q>, errorHandler?: ErrorHandler) => void {
  const { query } = spec;
  const options = { method, url, schema: schemaOf(spec), config: { record: routeRecord(spec) } };
  return (app, handle, errorHandler) => {
    const handler = (request: FastifyRequest, reply: FastifyReply): unknown => {
      if (query !== undefined) request.query = readQuery(request, query);
      return handle(request as FastifyRequest & { query: Q }, reply);
    };
    app.route({ ...options, ...(errorHandler && { errorHandler }), handler });
  };
}

/** Returns what the document states. */
function schemaOf<Q>(spec: Route<Q>): object {
  const { operationId, summary, tag, reply, errors, action, object, query, body } = spec;
  const [status, success] = reply;
  const forDevices = action !== 'public' && isForDevices(action);
  const params = object ? z.object({ [nameParameter(object.kind)]: Name }) : spec.params;
  return {
    operationId,
    summary,
    ...(forDevices && { description: 'The device account may use it as well.' }),
    tags: [tag],
    ...(!routeRecord(spec).guarded && { security: [] }),
    // Fastify warns of a part that is there and undefined.
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body }),
    response: { ...errors, [status]: success },
  };
}

/** What is different about each of several writes of objects of one kind. */
type WriteRoute = Pick<Route<WriteOptions>, 'operationId' | 'summary' | 'reply' | 'body'>;

/** Returns a short form of `route` for the routes that change objects of one kind. */
export function writeRoutes(tag: Tag, action: Action, object: RouteObject) {
  const errors = writeErrors(object.kind);
  return (method: Method, path: string, spec: WriteRoute) =>
    route(method, path, { tag, action, object, errors, query: WriteOptions, ...spec });
}
