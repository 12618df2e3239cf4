import type { FastifyRequest } from 'fastify';
import { HoldfastError } from '../../errors.ts';
import type { Api } from '../api.ts';

/** Routes that need an applied revision. `/info` is not one of them: its reply to this case must not be JSON. */
const NEEDS_REVISION = /^\/api\/v2\/(apps|device_groups|prune|changes|files)(?!.*\/info$)/;

/** All other methods write. A write can repair a refused revision; the writer reports why one is impossible. */
const READ_METHODS = new Set(['GET', 'HEAD']);
const PRUNE_ROUTE = /\/prune$/;

/**
 * Resolves to whether a revision has ever been applied or the branch has no commit. Rejects if that depends on the store
 * and the store is unavailable.
 */
async function isFleetKnown({ store, reconciler }: Api): Promise<boolean> {
  const { state, applied } = reconciler.status();
  return applied !== null || state === 'applied' || (await store.state()).applied !== null;
}

/**
 * Rejects as `unavailable` (503) if the request cannot be answered before a revision is applied: "there is no such app"
 * would be a guess, and a client that believes it would create the app again. A branch without commits is an empty fleet.
 */
export async function refuseUnready({ method, routeOptions }: FastifyRequest, api: Api): Promise<void> {
  const { state, error } = api.reconciler.status();
  const route = routeOptions.url ?? '';
  if (!NEEDS_REVISION.test(route)) return;
  if (state === 'refused' && !READ_METHODS.has(method) && !PRUNE_ROUTE.test(route)) return;
  if (await isFleetKnown(api)) return;
  const reason = error === null ? 'try again' : error.message;
  throw new HoldfastError('unavailable', `no revision has been applied yet; ${reason}`);
}
