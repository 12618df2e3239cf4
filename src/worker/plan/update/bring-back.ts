import type { Draft } from '../draft.ts';
import type { Container } from '../model.ts';
import { type AppView, hasGoodOld, isOfGood, isOfVersion, type Slot } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { revert } from './revert.ts';

/**
 * Brings the good version back while a newer one is being staged, if what has taken its place was never judged and fails:
 * it would be down for as long as the pull takes. Returns whether there is something to do.
 */
export function bringBack(view: AppView, version: Version, draft: Draft): boolean {
  if (!draft.world.rules.rollback || !hasGoodOld(view)) return false;
  // Once the newer one takes over, its own verdict decides.
  if (view.memory.wayBack?.id === version.id) return false;
  const slots = [...view.slots.values()].filter(({ old }) => old !== undefined && isOfGood(old, view));
  const unproven = slots.flatMap(({ current }) => current ?? []);
  const [first] = unproven;
  if (unproven.some((current) => isOfVersion(current, version) || isOfGood(current, view))) return false;
  if (first !== undefined && !unproven.some((current) => hasFailed(current, view, draft))) return false;
  if (slots.some(({ next }) => isStaged(next, version))) return false;
  revert([{ view, id: first?.appId ?? null, source: first?.source ?? '', keepsFailed: false }], draft);
  draft.setPhase(view.name, 'updating');
  return true;
}

function isStaged(next: Slot['next'], version: Version): boolean {
  return next !== undefined && isOfVersion(next, version);
}

/** What this worker has stopped is on its way back already. */
function hasFailed(
  { id, state, health, exitCode, restarts }: Container,
  view: AppView,
  draft: Draft,
): boolean {
  if (draft.stoppedOf(view.name).includes(id)) return true;
  const seen = draft.world.session.sightings[id]?.restarts ?? restarts;
  if (state === 'restarting' || state === 'dead' || restarts > seen) return true;
  return state === 'exited' ? exitCode !== 0 : health === 'unhealthy';
}
