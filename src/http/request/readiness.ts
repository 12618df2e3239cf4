import type { FastifyRequest } from 'fastify';
import { HoldfastError } from '../../errors.ts';
import type { Api } from '../api.ts';
import { recordOf } from '../route-record.ts';

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
export async function refuseUnready(request: FastifyRequest, api: Api): Promise<void> {
  const { needsRevision } = recordOf(request);
  if (needsRevision === false) return;
  const { state, error } = api.reconciler.status();
  if (state === 'refused' && needsRevision === 'unless refused') return;
  if (await isFleetKnown(api)) return;
  const reason = error === null ? 'try again' : error.message;
  throw new HoldfastError('unavailable', `no revision has been applied yet; ${reason}`);
}
