import type { FastifyRequest } from 'fastify';
import * as z from 'zod';
import { MAX_REASON } from '../../protocol/text.ts';
import { parameter, Text } from './query.ts';

/** The parameters of every write. */
export const WriteOptions = z.object({
  dry_run: parameter(
    Text.regex(/^(true|false)$/, 'must be true or false').transform((text) => text === 'true'),
    z.boolean(),
  )
    .optional()
    .describe(
      'With true, nothing changes: after the checks of the write, the response is 200 with a Preview.',
    ),
  reason: Text.max(MAX_REASON, `must have at most ${MAX_REASON} characters`)
    .optional()
    .describe('Why, for the body of the commit message; of a restart or prune, for the log.'),
});

export type WriteOptions = z.infer<typeof WriteOptions>;

/** The header with the revision that the client has seen. */
const BASE_HEADER = 'holdfast-base';

/** Whether a write is only to be previewed. */
export function isDryRun({ query }: FastifyRequest): boolean {
  return (query as WriteOptions).dry_run === true;
}

/** Returns why a write is requested, and the revision to which it is bound, as far as the request says so. */
export function reasonAndBase(request: FastifyRequest): { reason?: string; base?: string } {
  const { reason } = request.query as WriteOptions;
  const base = request.headers[BASE_HEADER];
  return {
    ...(reason === undefined ? {} : { reason }),
    ...(base === undefined ? {} : { base: String(base).trim() }),
  };
}
