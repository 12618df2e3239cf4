import type { Container } from '../model.ts';
import { type Next, saying } from '../next.ts';
import { type AppView, hasGoodOld, isOfGood, isOfVersion, type Slot } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { revert } from './revert.ts';

/**
 * Brings the good version back while a newer one is being staged, if what has taken its place was never judged and fails:
 * it would be down for as long as the pull takes. Null if there is nothing to do.
 */
export function bringBack(view: AppView, version: Version, world: World): Next | null {
  if (!world.rules.rollback || !hasGoodOld(view)) return null;
  // Once the newer one takes over, its own verdict decides.
  if (view.memory.wayBack?.id === version.id) return null;
  const slots = [...view.slots.values()].filter(({ old }) => old !== undefined && isOfGood(old, view));
  const unproven = slots.flatMap(({ current }) => current ?? []);
  const [first] = unproven;
  if (unproven.some((current) => isOfVersion(current, version) || isOfGood(current, view))) return null;
  if (first !== undefined && !unproven.some((current) => hasFailed(current, view, world))) return null;
  if (slots.some(({ next }) => isStaged(next, version))) return null;
  const failing = { id: first?.appId ?? null, source: first?.source ?? '', keepsFailed: false };
  return { ...revert(view, failing, world), ...saying('updating') };
}

function isStaged(next: Slot['next'], version: Version): boolean {
  return next !== undefined && isOfVersion(next, version);
}

/** What this worker has stopped is on its way back already. */
function hasFailed(
  { id, state, health, exitCode, restarts }: Container,
  { memory }: AppView,
  { session }: World,
): boolean {
  if (memory.stopped?.includes(id) === true) return true;
  const seen = session.sightings[id]?.restarts ?? restarts;
  if (state === 'restarting' || state === 'dead' || restarts > seen) return true;
  return state === 'exited' ? exitCode !== 0 : health === 'unhealthy';
}
