import type { FastifyInstance } from 'fastify';
import { HoldfastError } from '../errors.ts';
import type { Api } from './api.ts';

/** What tells of the fleet; `/info` has an answer of its own for this. */
const ABOUT_THE_FLEET = /^\/api\/v2\/(apps|device_groups|prune)(?!.*\/info$)/;

/** A revision that is refused has to be mended, which a write may do; it is told itself what is in its way. */
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
    if (applied !== null || state === 'applied' || !ABOUT_THE_FLEET.test(route)) return;
    if (state === 'refused' && !READS.has(request.method) && !PRUNES.test(route)) return;
    if ((await store.state()).applied !== null) return;
    const reason = error === null ? 'try again' : error.message;
    throw new HoldfastError('unavailable', `no revision is applied yet; ${reason}`);
  });
}
