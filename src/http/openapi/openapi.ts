import { hash } from 'node:crypto';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { once } from '../../async/once.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { JSON_TYPE } from '../json.ts';
import { CARRIES_REVISION } from '../revision.ts';
import { TAGS } from './documented.ts';

const DESCRIPTION = `Apps and device groups of a container fleet. Configuration lives in git: a write through this API becomes a
commit, and this API and the devices see what is committed. Restarts and prunes are operations and make no commit.`;

/** Describes every route that is registered after this call, and serves the description at `/openapi.json`. */
export async function useOpenApi(app: FastifyInstance, version: string): Promise<void> {
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
    transform: jsonSchemaTransform,
    transformObject: (document) =>
      withLongNumbers(
        withHeaders(withUsedSchemas(jsonSchemaTransformObject(document) as OpenApiDocument)),
      ) as object,
  });
  // Anyone may request it. All replies share one buffer, so that those that nobody reads take no memory.
  const rendered = once(() => {
    const body = Buffer.from(JSON.stringify(app.swagger()));
    return { body, etag: `"${hash('sha256', body)}"` };
  });
  app.get('/openapi.json', { schema: { hide: true } as object }, (request, reply) => {
    const { body, etag } = rendered();
    reply.header('etag', etag);
    return isNotModified(request, etag) ? sendNotModified(request, reply) : reply.type(JSON_TYPE).send(body);
  });
}

const REFERENCE = /"#\/components\/schemas\/([^"]+)"/g;

/** An OpenAPI document, reduced to the parts that are changed here. */
interface OpenApiDocument {
  components: { schemas: Readonly<Record<string, object>> };
  paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  parameters?: readonly object[];
  responses: Readonly<Record<string, ResponseSpec>>;
}

interface ResponseSpec {
  content?: Readonly<Record<string, { schema?: { $ref?: string } }>>;
}

/**
 * Removes unused schemas: each one exists twice, for requests and for replies, and client generators use them all. Also
 * removes `additionalProperties: false` from the schemas of replies.
 */
function withUsedSchemas(document: OpenApiDocument): OpenApiDocument {
  const { paths, components } = document;
  const used = new Set<string>();
  const visit = (part: unknown): void => {
    for (const [, name = ''] of JSON.stringify(part).matchAll(REFERENCE)) {
      if (used.has(name)) continue;
      used.add(name);
      visit(components.schemas[name]);
    }
  };
  visit(paths);
  const schemas = Object.entries(components.schemas)
    .filter(([name]) => used.has(name))
    .map(([name, schema]) => [name, name.endsWith('Input') ? schema : allowMoreFields(schema)]);
  return { ...document, components: { ...components, schemas: Object.fromEntries(schemas) } };
}

/** Removes the statement that there are no further fields, since clients must accept those that later versions add. */
function allowMoreFields(schema: object): object {
  return JSON.parse(JSON.stringify(schema), (key, value) =>
    key === 'additionalProperties' && value === false ? undefined : value,
  );
}

/** The first whole number that does not fit into 32 bits. */
const LONG = 2 ** 31;

/** Marks integers that can exceed 32 bits, such as ids, which can start as times. Generated clients use 32 bits for others. */
function withLongNumbers(document: OpenApiDocument): OpenApiDocument {
  return JSON.parse(JSON.stringify(document), (_key, value) =>
    value?.type === 'integer' && value.maximum >= LONG ? { ...value, format: 'int64' } : value,
  );
}

/** Adds the headers of requests and replies, which follow from the path and its possible replies. */
function withHeaders(document: OpenApiDocument): OpenApiDocument {
  const paths = mapValues(document.paths, (operations, path) =>
    mapValues(operations, (operation) => ({
      ...operation,
      parameters: [...(operation.parameters ?? []), ...requestHeaders(operation)],
      responses: mapValues(operation.responses, (response, status) => ({
        ...response,
        headers: replyHeaders(path, status, response),
      })),
    })),
  );
  return { ...document, paths };
}

function mapValues<T, U>(
  record: Readonly<Record<string, T>>,
  change: (value: T, key: string) => U,
): Record<string, U> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]));
}

const TEXT = { type: 'string' };
const REQUEST_ID_DOCS = `The id of the request in the log, the response and the commit. 1 to 64 letters, digits, dots, underscores, colons
and hyphens; any other value is replaced by a generated id.`;

function requestHeaders({ responses }: Operation): object[] {
  const header = (name: string, description: string): object => ({
    in: 'header',
    name,
    required: false,
    description,
    schema: TEXT,
  });
  return [
    header('X-Request-Id', REQUEST_ID_DOCS),
    ...('412' in responses
      ? [
          header(
            'If-Match',
            'The ETag that the object must still have. For a device group, its id alone, in quotes, works as well.',
          ),
        ]
      : []),
    ...('304' in responses ? [header('If-None-Match', 'The ETag of the response that the client has.')] : []),
  ];
}

/** References to the schemas of replies that have an ETag. */
const TAGGED = /\/(App|DeviceGroup|DeviceGroupInfo)$/;

function replyHeaders(path: string, status: string, { content }: ResponseSpec): Record<string, object> {
  const header = (description: string): object => ({ description, schema: TEXT });
  const [body] = Object.values(content ?? {});
  const isTagged = status === '304' || TAGGED.test(body?.schema?.$ref ?? '');
  const use = path.endsWith('/info') ? 'only' : 'and If-Match';
  return {
    'X-Request-Id': header('The id of the request in the log.'),
    ...(isTagged ? { ETag: header(`Changes whenever the body does; for If-None-Match ${use}.`) } : {}),
    ...(status === '401' && path.startsWith('/api/')
      ? { 'WWW-Authenticate': header('The authentication scheme to use.') }
      : {}),
    ...(CARRIES_REVISION.test(path) && status !== '401'
      ? { 'Holdfast-Revision': header('The revision that was applied when the response was made.') }
      : {}),
  };
}
