import type { FastifyReply } from 'fastify';

/** The header that carries the applied revision (docs/contract.md, 10.3). */
export const REVISION_HEADER = 'holdfast-revision';

/** Adds the applied revision to a reply. Null, before anything has been applied, adds nothing. */
export function withRevision(reply: FastifyReply, revision: string | null): FastifyReply {
  return revision === null ? reply : reply.header(REVISION_HEADER, revision);
}

/** Sends a body, with the revision that was applied when the body was read. */
export function sendAtRevision(
  reply: FastifyReply,
  status: number,
  revision: string | null,
  body: unknown,
): FastifyReply {
  return withRevision(reply, revision).code(status).send(body);
}
