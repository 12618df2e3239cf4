import { createHmac } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { HoldfastError } from '../../errors.ts';
import { sameText } from '../access/authentication.ts';
import type { Api } from '../api.ts';
import { documented } from '../replies.ts';

/** Bytes; forges send what was pushed, of which nothing is looked at. */
const BODY_LIMIT = 65_536;

const Refused = z.looseObject({ error: z.string() });

const docs = documented({
  summary: 'Tells that something was pushed; GitHub, GitLab and Gitea know how to call it',
  tag: 'manager',
  isPublic: true,
  reply: [202, z.object({ accepted: z.literal(true) })],
  errors: {
    401: Refused.describe('The signature is missing or wrong.'),
    413: Refused.describe('Too large.'),
  },
});

/**
 * A hint to look at origin, and nothing else: what it says is not read. Is not there without a secret. Its bodies are
 * taken as they are, since signatures are over the very bytes.
 */
export async function useWebhook(app: FastifyInstance, api: Api, secret: string | null): Promise<void> {
  if (secret === null) return;
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, payload, done) => done(null, payload));
    scope.post('/webhook', { ...docs, bodyLimit: BODY_LIMIT }, async (request, reply) => {
      if (!isSigned(request, secret)) {
        throw new HoldfastError('invalid', 'the signature is missing or wrong', { status: 401 });
      }
      void api.reconciler.look();
      return reply.code(202).send({ accepted: true });
    });
  });
}

/** GitHub and Gitea sign the body; GitLab sends the secret itself. */
function isSigned({ headers, body }: FastifyRequest, secret: string): boolean {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const digest = createHmac('sha256', secret).update(bytes).digest('hex');
  const proofs: readonly [string | string[] | undefined, string][] = [
    [headers['x-hub-signature-256'], `sha256=${digest}`],
    [headers['x-gitea-signature'], digest],
    [headers['x-gitlab-token'], secret],
  ];
  // All are compared, so that time does not tell which one was near.
  const matches = proofs.map(([given, wanted]) => sameText(String(given ?? ''), wanted));
  return matches.includes(true);
}
