import type { FastifyInstance } from 'fastify';
import { UNLISTED } from '../route-record.ts';

/** For a person who opens the address in a browser. It tells a stranger nothing that `/openapi.json` does not. */
const TEXT = `This is Holdfast, a manager of containers on fleets of devices. Their configuration is in a git repository.

  /api/v2/reconcile   which repository and revision it follows, and which files have problems (needs credentials)
  /openapi.json       the description of the whole API, which is below /api/v2/
  /healthz, /readyz   probes
  /metrics            metrics for Prometheus (needs credentials)

With curl:  curl --user NAME ADDRESS/api/v2/reconcile
`;

/** What `/` answers. It is no operation of the API, so the OpenAPI document leaves it out. */
export function rootRoutes(app: FastifyInstance): void {
  app.get('/', UNLISTED, async (_request, reply) => reply.type('text/plain; charset=utf-8').send(TEXT));
}
