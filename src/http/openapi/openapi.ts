import { hash } from 'node:crypto';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import type * as z from 'zod';
import { once } from '../../async/once.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { JSON_TYPE } from '../json.ts';
import { type RouteRecord, UNLISTED } from '../route-record.ts';
import { mapValues, type OpenApiDocument } from './document.ts';
import { withHeaders, withTimeouts } from './every-operation.ts';
import { createSchemaWriter, type SchemaWriter } from './json-schema.ts';
import type { ReplyDocs } from './replies.ts';
import { TAGS } from './route.ts';
import { withLongNumbers, withUsedSchemas } from './schemas.ts';

const DESCRIPTION = `Apps and device groups of a container fleet. Configuration lives in git: a write through this API becomes a
commit, and this API and the devices see what is committed. Restarts and prunes are operations and make no commit.`;

/** Describes every route that is registered after this call, and serves the description at `/openapi.json`. */
export async function useOpenApi(app: FastifyInstance, version: string): Promise<void> {
  const writer = createSchemaWriter();
  /** By the id of the operation. */
  const records = new Map<string, RouteRecord>();
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Holdfast',
        description: DESCRIPTION,
        version,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/', description: 'The manager that serves this document.' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } },
      security: [{ basic: [] }],
    },
    transform: ({ schema, url, route }) => {
      if (!isRouteSchema(schema)) return { schema, url };
      if (route.config?.record) records.set(schema.operationId, route.config.record);
      return { schema: written(schema, writer), url };
    },
    transformObject: (document) => {
      const { openapiObject } = document as { openapiObject: OpenApiDocument };
      const components = { ...openapiObject.components, schemas: writer.components() };
      return complete({ ...openapiObject, components }, records);
    },
  });
  // Anyone may request it. All replies share one buffer, so that those that nobody reads take no memory.
  const rendered = once(() => {
    const body = Buffer.from(JSON.stringify(app.swagger()));
    return { body, etag: `"${hash('sha256', body)}"` };
  });
  app.get('/openapi.json', UNLISTED, (request, reply) => {
    const { body, etag } = rendered();
    reply.header('etag', etag);
    return isNotModified(request, etag) ? sendNotModified(request, reply) : reply.type(JSON_TYPE).send(body);
  });
}

/** The schema of a route, as `route` makes it. */
interface RouteSchema extends Partial<Record<(typeof REQUEST_PARTS)[number], z.ZodType>> {
  operationId: string;
  response: Readonly<Record<string, ReplyDocs | z.ZodNull>>;
}

const REQUEST_PARTS = ['params', 'querystring', 'body'] as const;

function isRouteSchema(schema: object): schema is RouteSchema {
  return 'response' in schema;
}

/** Returns the schema of a route with JSON Schemas in place of those of zod. */
function written(schema: RouteSchema, { write }: SchemaWriter): object {
  const parts = REQUEST_PARTS.map((part) => [part, schema[part] && write(schema[part], 'input')]);
  const response = mapValues(schema.response, (reply) => {
    if (!('content' in reply)) return write(reply, 'output');
    return {
      ...reply,
      content: mapValues(reply.content, (one) => ({ schema: write(one.schema, 'output') })),
    };
  });
  return { ...schema, ...Object.fromEntries(parts), response };
}

function complete(document: OpenApiDocument, records: ReadonlyMap<string, RouteRecord>): OpenApiDocument {
  return withLongNumbers(withUsedSchemas(withTimeouts(withHeaders(document, records))));
}
