import swagger from '@fastify/swagger';
import type { FastifyInstance } from 'fastify';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';

const DESCRIPTION = `Apps and device groups of a container fleet. Configuration lives in git: a write through this API becomes a
commit, and a commit becomes what this API and the devices see. Restarts and prunes are operations without a commit.`;

/** Describes every route that is registered after this call, and serves the description at \`/openapi.json\`. */
export async function useOpenApi(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: { title: 'Holdfast', description: DESCRIPTION, version },
      components: { securitySchemes: { basic: { type: 'http', scheme: 'basic' } } },
      security: [{ basic: [] }],
    },
    transform: jsonSchemaTransform,
    transformObject: jsonSchemaTransformObject,
  });
  app.get('/openapi.json', { schema: { hide: true } as object }, (_request, reply) =>
    reply.send(app.swagger()),
  );
}
