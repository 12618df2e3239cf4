import { heal } from '../heal/heal.ts';
import { type Next, saying } from '../next.ts';
import { isWayBackFree } from '../ports/ports.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, isUp } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { verdictOnAll } from './gate.ts';

/** What is thought of a version, and what follows. `failing`: it failed, and there is nothing to go back to. */
type Judgement = Next & { verdict: 'passed' | 'waiting' | 'failing' | 'taken back' };

/** Judges what runs already of a version, unless that is known to be good. */
export function judgeNew(view: AppView, version: Version, world: World): Judgement {
  if (isKnownGood(view, version)) return { view, steps: [], verdict: 'passed' };
  const { good } = view.memory;
  const fresh = currentsOf(view).filter(
    (current) =>
      isOfVersion(current, version) &&
      !(version.change === 'scale' && good !== null && current.appId <= good.id && isUp(current)),
  );
  const verdict = verdictOnAll(view, fresh, version.record, world);
  if (verdict.kind !== 'failed') return { view, steps: [], verdict: verdict.kind };
  const { reason, container } = verdict;
  if (canGoBack(view, version, world)) {
    const failed = { id: version.id, content: version.content, ...reason, since: world.wallTime, log: [] };
    return {
      view: { ...view, memory: { ...view.memory, failed, retry: null } },
      steps: [],
      ...saying('updating', reason),
      ...(container !== undefined && { failure: container.id }),
      verdict: 'taken back',
    };
  }
  const started = fresh.filter(({ state }) => state !== 'created');
  const { problem, ...next } = heal(view, started, version, world);
  return { ...next, watched: started, ...saying('failing', problem ?? reason), verdict: 'failing' };
}

/** Whether there is something to go back to that was well when it was replaced, and whose ports nobody has taken since. */
function canGoBack({ name, memory, slots }: AppView, { id }: Version, { rules, actual }: World): boolean {
  if (!rules.rollback || !isWayBackFree(name, memory.good, actual)) return false;
  if (memory.wayBack?.id === id) return memory.wayBack.isGood;
  return [...slots.values()].some(({ old }) => old !== undefined);
}
