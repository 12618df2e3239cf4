import type { FastifyInstance } from 'fastify';
import { HoldfastError } from '../errors.ts';
import type { Api } from './api.ts';

/** Routes that need an applied revision. `/info` is not among them: it has its own answer, which is no JSON. */
const NEEDS_REVISION = /^\/api\/v2\/(apps|device_groups|prune)(?!.*\/info$)/;

/** Other methods write: a write can mend a revision that was refused, and is told itself what is in its way. */
const READS = new Set(['GET', 'HEAD']);
const PRUNES = /\/prune$/;

/**
 * Until the first revision is applied nobody knows which apps there are: "there is no such app" would be made up, and
 * whoever believes it creates the app again. Such requests are 503. A branch without a commit is a fleet of nothing.
 */
export function useReadiness(app: FastifyInstance, { store, reconciler }: Api): void {
  app.addHook('preHandler', async (request) => {
    const { state, applied, error } = reconciler.status();
    const route = request.routeOptions.url ?? '';
    if (applied !== null || state === 'applied' || !NEEDS_REVISION.test(route)) return;
    if (state === 'refused' && !READS.has(request.method) && !PRUNES.test(route)) return;
    if ((await store.state()).applied !== null) return;
    const reason = error === null ? 'try again' : error.message;
    throw new HoldfastError('unavailable', `no revision is applied yet; ${reason}`);
  });
}
