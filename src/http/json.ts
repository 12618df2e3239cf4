import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** The content type of JSON replies. fastify sets it only if it serializes the body itself. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** The header by which browsers take no body for another type than it has, such as an error for a script. */
export const NO_SNIFFING = ['x-content-type-options', 'nosniff'] as const;

/**
 * Sends JSON text in parts, each produced after the previous one is sent. The reply to HEAD has no parts, because fastify
 * would produce them all and drop them.
 */
export function sendParts(
  { method }: FastifyRequest,
  reply: FastifyReply,
  parts: AsyncIterable<string>,
): FastifyReply {
  return reply.type(JSON_TYPE).send(Readable.from(method === 'HEAD' ? [] : parts));
}
