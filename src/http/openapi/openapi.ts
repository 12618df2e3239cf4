import { hash } from 'node:crypto';
import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { once } from '../../async/once.ts';
import { isNotModified, sendNotModified } from '../conditions.ts';
import { JSON_TYPE } from '../json.ts';
import type { OpenApiDocument } from './document.ts';
import { TAGS } from './documented.ts';
import { withHeaders, withTimeouts } from './every-operation.ts';
import { withLongNumbers, withUsedSchemas } from './schemas.ts';

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
    transformObject: (document) => complete(jsonSchemaTransformObject(document) as OpenApiDocument),
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

function complete(document: OpenApiDocument): OpenApiDocument {
  return withLongNumbers(withUsedSchemas(withTimeouts(withHeaders(document))));
}
