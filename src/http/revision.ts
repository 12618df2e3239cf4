import type { FastifyReply } from 'fastify';

/** Routes whose replies name the applied revision. */
export const TELLS_REVISION = /^\/api\/v2\/(apps|device_groups|prune|reports)\b/;

/** The header that names the applied revision (decisions, "Writes through the API"). */
export const REVISION_HEADER = 'holdfast-revision';

/** Names the applied revision in a reply; nothing where there is none. */
export function withRevision(reply: FastifyReply, revision: string | null): FastifyReply {
  return revision === null ? reply : reply.header(REVISION_HEADER, revision);
}

/** Sends what was read, and names the revision that was applied when it was read. */
export function send(
  reply: FastifyReply,
  status: number,
  revision: string | null,
  body: unknown,
): FastifyReply {
  return withRevision(reply, revision).code(status).send(body);
}
