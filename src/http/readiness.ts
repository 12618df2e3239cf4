import type { FastifyInstance } from 'fastify';
import { HoldfastError } from '../errors.ts';
import type { Api } from './api.ts';

/** What tells of the fleet; `/info` has an answer of its own for this. */
const ABOUT_THE_FLEET = /^\/api\/v2\/(apps|device_groups|prune)(?!.*\/info$)/;

/**
 * Until the first revision is applied nobody knows which apps there are: "there is no such app" would be made up, and
 * whoever believes it creates the app again. Such requests are 503.
 */
export function useReadiness(app: FastifyInstance, { store, reconciler }: Api): void {
  app.addHook('preHandler', async (request) => {
    const { state, applied } = reconciler.status();
    if (applied !== null || (state !== 'starting' && state !== 'failing')) return;
    if (!ABOUT_THE_FLEET.test(request.routeOptions.url ?? '')) return;
    if ((await store.state()).applied !== null) return;
    throw new HoldfastError('unavailable', 'no revision is applied yet; try again');
  });
}
