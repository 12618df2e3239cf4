import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import * as z from 'zod';
import { equalInConstantTime } from '../../accounts/authenticator.ts';
import { authorize, FORGE } from '../../accounts/principal.ts';
import type { Api } from '../api.ts';
import { Fault, json } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { readChunks, tooLarge } from '../request/body.ts';
import { RequestRefused } from '../request-refused.ts';

/** The largest payload that GitHub sends, in bytes: that of a push lists all its commits, with the files of each. */
const BODY_LIMIT = 26_214_400;

/** The value of `request.body` if the body is too large, and so was not read to its end. */
const TOO_LARGE = Symbol('too large');

const Accepted = z.object({ accepted: z.literal(true) }).meta({ id: 'AcceptedWebhook' });

const webhookRoute = route('POST', '/webhook', {
  operationId: 'receiveWebhook',
  action: 'notify',
  // A call proves itself by its signature, not by the credentials of an account.
  guarded: false,
  summary: 'Check the branch now; the webhook for GitHub, GitLab and Gitea',
  tag: 'manager',
  reply: [202, json('The manager checks the branch.', Accepted)],
  errors: {
    401: json('The signature is missing or wrong.', Fault),
    413: json('The body is too large.', Fault),
  },
});

/**
 * Adds the webhook, which makes the manager poll origin; without a secret there is no such route. A payload is neither
 * parsed nor kept. It is only digested as it arrives, because signatures are over the raw bytes.
 */
export async function useWebhook(app: FastifyInstance, api: Api, secret: string | null): Promise<void> {
  if (secret === null) return;
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', async (_request: FastifyRequest, payload: IncomingMessage) => {
      const hmac = createHmac('sha256', secret);
      const isWhole = await readChunks(payload, BODY_LIMIT, (chunk) => void hmac.update(chunk));
      return isWhole ? hmac.digest('hex') : TOO_LARGE;
    });
    webhookRoute(scope, async (request, reply) => {
      if (request.body === TOO_LARGE) {
        // The rest of the body may still be arriving. Without the connection, it need not be read.
        reply.header('connection', 'close');
        throw tooLarge(BODY_LIMIT);
      }
      if (!isSigned(request, secret) || !authorize(FORGE, 'notify', [])) {
        throw new RequestRefused(401, 'the signature is missing or wrong');
      }
      void api.reconciler.pollOrigin();
      return reply.code(202).send({ accepted: true });
    });
  });
}

/** Whether the request proves that its sender knows the secret. GitHub and Gitea sign the body; GitLab sends the secret. */
function isSigned({ headers, body }: FastifyRequest, secret: string): boolean {
  const digest = typeof body === 'string' ? body : createHmac('sha256', secret).digest('hex');
  const proofs: readonly [string | string[] | undefined, string][] = [
    [headers['x-hub-signature-256'], `sha256=${digest}`],
    [headers['x-gitea-signature'], digest],
    [headers['x-gitlab-token'], secret],
  ];
  // All three are compared, so that the time taken does not reveal which one matched.
  const matches = proofs.map(([given, expected]) => equalInConstantTime(String(given ?? ''), expected));
  return matches.includes(true);
}
