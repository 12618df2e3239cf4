import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The type of JSON replies. fastify sets it only on what it serializes itself. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Sends JSON text whose parts are made on the way; none for a HEAD, for which fastify would read and drop them all. */
export function sendParts(
  { method }: FastifyRequest,
  reply: FastifyReply,
  parts: AsyncIterable<string>,
): FastifyReply {
  return reply.type(JSON_TYPE).send(Readable.from(method === 'HEAD' ? [] : parts));
}
