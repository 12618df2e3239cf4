import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * The tags of an `If-Match` header (RFC 9110, 13.1.1), with their quotes; null where any object will do. None of ours
 * has a comma.
 */
export function ifMatchIn({ headers }: FastifyRequest): string[] | null {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').map((tag) => tag.trim());
}

/** `If-None-Match` (RFC 9110, 13.1.2): the comparison is the weak one. */
export function isKnown(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Whether a request reads what the client has already. */
export function isUnchanged({ method, headers }: FastifyRequest, etag: string): boolean {
  return (method === 'GET' || method === 'HEAD') && isKnown(headers['if-none-match'], etag);
}

/** Says that the client has it already. */
export function sendUnchanged(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Without a payload fastify sends a HEAD `content-length: 0`, which is not the length of the GET's reply (RFC 9110, 8.6).
  return reply.code(304).send(request.method === 'HEAD' ? Readable.from([]) : undefined);
}
