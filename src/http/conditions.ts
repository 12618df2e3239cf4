import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';

/**
 * Returns the tags of `If-Match` (RFC 9110, 13.1.1), with their quotes; null if the header is absent or `*`. Tags are
 * split at commas, which our own tags never contain.
 */
export function ifMatchIn({ headers }: FastifyRequest): string[] | null {
  const header = headers['if-match'];
  if (header === undefined || header.trim() === '*') return null;
  return header.split(',').map((tag) => tag.trim());
}

/** Whether a header `If-None-Match` matches a tag, by weak comparison (RFC 9110, 13.1.2). */
export function matchesIfNoneMatch(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  if (header === etag || header.trim() === '*') return true;
  return header.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}

/** Whether a request is a read of something that the client already has, so that the reply is a 304. */
export function isNotModified({ method, headers }: FastifyRequest, etag: string): boolean {
  return (method === 'GET' || method === 'HEAD') && matchesIfNoneMatch(headers['if-none-match'], etag);
}

/** Sends a 304. */
export function sendNotModified(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  // Without a payload, fastify would send HEAD `content-length: 0`, which is not that of GET (RFC 9110, 8.6).
  return reply.code(304).send(request.method === 'HEAD' ? Readable.from([]) : undefined);
}
