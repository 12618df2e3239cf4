import type { FastifyRequest } from 'fastify';
import { HoldfastError } from '../../errors.ts';
import type { Api } from '../api.ts';

/** Routes that need an applied revision. `/info` is not among them: it has its own answer, which is no JSON. */
const NEEDS_REVISION = /^\/api\/v2\/(apps|device_groups|prune)(?!.*\/info$)/;

/** All other methods write: a write can fix a revision that was refused, and says itself what is in its way. */
const READS = new Set(['GET', 'HEAD']);
const PRUNES = /\/prune$/;

/**
 * Whether a revision was ever applied, or the branch has no commit. Rejects if only the store knows, and that is
 * unavailable.
 */
async function isFleetKnown({ store, reconciler }: Api): Promise<boolean> {
  const { state, applied } = reconciler.status();
  return applied !== null || state === 'applied' || (await store.state()).applied !== null;
}

/**
 * Throws the 503 of a request that cannot be answered until the first revision is applied: "there is no such app" would
 * be a guess, and a client that believes it creates the app again. A branch without a commit is an empty fleet.
 */
export async function refuseUnready({ method, routeOptions }: FastifyRequest, api: Api): Promise<void> {
  const { state, error } = api.reconciler.status();
  const route = routeOptions.url ?? '';
  if (!NEEDS_REVISION.test(route)) return;
  if (state === 'refused' && !READS.has(method) && !PRUNES.test(route)) return;
  if (await isFleetKnown(api)) return;
  const reason = error === null ? 'try again' : error.message;
  throw new HoldfastError('unavailable', `no revision has been applied yet; ${reason}`);
}
