import * as z from 'zod';
import { type Action, isForDevices } from '../../accounts/principal.ts';
import { Name } from '../../protocol/name.ts';
import type { BodyRule } from '../request/fields.ts';
import { WriteOptions } from '../request/write-options.ts';
import {
  nameParameter,
  type RouteObject,
  type RouteProperties,
  type RouteRecord,
  routeRecord,
} from '../route-record.ts';
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

/** What a route is, and what the OpenAPI document states about it. */
export interface RouteDocs extends RouteProperties {
  /** Generated clients use it as the name of a method. */
  operationId: string;
  summary: string;
  tag: Tag;
  reply: readonly [status: number, reply: ReplyDocs];
  errors: Readonly<Record<number, ReplyDocs | z.ZodNull>>;
  /** The parameters of the path, if there is no `object`. */
  params?: z.ZodType;
  querystring?: z.ZodType;
  body?: z.ZodType;
}

/** Returns the options of a route that fastify and the document need. */
export function documented(docs: RouteDocs): { schema: object; config: { record: RouteRecord } } {
  const { operationId, summary, tag, reply, errors, params, querystring, body, ...properties } = docs;
  const [status, success] = reply;
  const record = routeRecord(properties);
  const { action, object, guarded } = record;
  const security = guarded ? {} : { security: [] };
  const response = { ...errors, [status]: success };
  const forDevices = action !== 'public' && isForDevices(action);
  const description = forDevices ? { description: 'The device account may use it as well.' } : {};
  const named = object ? z.object({ [nameParameter(object.kind)]: Name }) : params;
  // Fastify warns of a part that is there and undefined.
  const parts = {
    ...(named && { params: named }),
    ...(querystring && { querystring }),
    ...(body && { body }),
  };
  const schema = { operationId, summary, ...description, tags: [tag], ...security, ...parts, response };
  return { schema, config: { record } };
}

/** Returns a short form of `documented` for the routes that change objects of one kind. */
export function documentedWrites(tag: Tag, action: Action, object: RouteObject) {
  const errors = writeErrors(object.kind);
  return (
    operationId: string,
    summary: string,
    reply: RouteDocs['reply'],
    body?: z.ZodType,
  ): ReturnType<typeof documented> =>
    documented({
      operationId,
      summary,
      tag,
      action,
      object,
      reply,
      errors,
      querystring: WriteOptions,
      ...(body && { body }),
    });
}
