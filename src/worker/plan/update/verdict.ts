import type { Draft } from '../draft.ts';
import { heal } from '../heal/heal.ts';
import type { Container, Obstacle } from '../model.ts';
import { isWayBackFree } from '../ports/ports.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, isUp } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { verdictOnAll } from './gate.ts';

/** What runs already of a version that is not known to be good: whether it has passed, or has failed and goes back. */
export function judgeNew(view: AppView, version: Version, draft: Draft): 'passed' | 'waiting' | 'failed' {
  if (isKnownGood(view, version)) return 'passed';
  const { good } = view.memory;
  const fresh = currentsOf(view).filter(
    (current) =>
      isOfVersion(current, version) &&
      !(version.change === 'scale' && good !== null && current.appId <= good.id && isUp(current)),
  );
  const verdict = verdictOnAll(view.name, fresh, version.record, draft);
  if (verdict.kind !== 'failed') return verdict.kind;
  if (canGoBack(view, version, draft)) {
    takeBack(view, version, verdict.reason, verdict.container ?? null, draft);
    return 'failed';
  }
  const started = fresh.filter(({ state }) => state !== 'created');
  const obstacle = heal(view.name, started, version, draft);
  for (const container of started) draft.sight(container);
  draft.setPhase(view.name, 'failing', obstacle ?? verdict.reason);
  return 'waiting';
}

/** Whether there is something to go back to that was well when it was replaced, and whose ports nobody has taken since. */
function canGoBack({ name, memory, slots }: AppView, { id }: Version, draft: Draft): boolean {
  const { rules, actual } = draft.world;
  if (!rules.rollback || !isWayBackFree(name, memory.good, actual)) return false;
  if (memory.wayBack?.id === id) return memory.wayBack.isGood;
  return [...slots.values()].some(({ old }) => old !== undefined);
}

function takeBack(
  view: AppView,
  { id, content }: Version,
  { code, text }: Obstacle,
  container: Container | null,
  draft: Draft,
): void {
  const failed = { id, content, code, text, since: draft.world.wallTime, log: [] };
  draft.remember(view.name, { failed, retry: null });
  if (container !== null) draft.failures.push({ app: view.name, container: container.id });
  draft.setPhase(view.name, 'updating', { code, text });
}
