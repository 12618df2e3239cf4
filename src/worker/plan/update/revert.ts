import { containerName } from '../labels.ts';
import type { Container, Step } from '../model.ts';
import type { Next } from '../next.ts';
import { isDue, without } from '../session.ts';
import { type AppView, isUp, type Slot } from '../view.ts';
import type { World } from '../world.ts';
import { createStep } from './prepare.ts';
import { discardStep, renameStep, stopStep } from './steps.ts';

/** A version that is taken back. */
interface Failing {
  /** Null for an app that only has to come back. */
  id: number | null;
  source: string;
  /** Whether its containers stay as `.failed`: the mark by which the id is not tried again. */
  keepsFailed: boolean;
}

/**
 * Takes a version back that failed: first all of its containers are stopped, then the old ones get their names again.
 * Without steps, that is done; what has come back is started by `heal`.
 */
export function revert(view: AppView, failing: Failing, world: World): Next {
  const running = ofFailed(view, failing).filter(isUp);
  if (running.length > 0)
    return { view, steps: running.map((container) => stopStep(container, world.rules)) };
  const steps = [...view.slots].flatMap(([, slot]) => discards(slot, failing, world));
  const back = [...view.slots].flatMap(([, slot]) => returns(slot, failing, world));
  // What comes back starts at once, however often it was healed before.
  const troubles = back.length > 0 ? without(view.troubles, 'heal') : view.troubles;
  const all = [...steps, ...back];
  return { view: { ...view, troubles }, steps: all.length > 0 ? all : remake(view, world) };
}

function isOf(container: Container | undefined, { id, source }: Failing): container is Container {
  return container?.appId === id && container?.source === source;
}

function ofFailed({ slots }: AppView, failing: Failing): Container[] {
  return [...slots.values()]
    .flatMap(({ current, next }) => [current, next])
    .filter((container) => isOf(container, failing));
}

/** What of a slot failed goes, or gets the mark. */
function discards({ next, current, failed }: Slot, failing: Failing, { rules }: World): Step[] {
  if (isOf(next, failing)) return [discardStep(next, rules)];
  if (!isOf(current, failing)) return [];
  if (!failing.keepsFailed) return [discardStep(current, rules)];
  if (failed !== undefined) return [discardStep(failed, rules)];
  return [renameStep(current, containerName(rules.prefix, current.app, current.slot, 'failed'))];
}

function returns({ next, current, old }: Slot, failing: Failing, { rules }: World): Step[] {
  if (isOf(next, failing) || current !== undefined || old === undefined) return [];
  return [renameStep(old, containerName(rules.prefix, old.app, old.slot, 'current'))];
}

/** Recreates containers of the good version that are gone, from its image. */
function remake(view: AppView, { rules, actual, now }: World): Step[] {
  const { good } = view.memory;
  if (good === null || good.record === null || good.imageId === null || !good.record.running) return [];
  if (!actual.images.ids.has(good.imageId) || !isDue(view.troubles.create, good.id, now)) return [];
  const { record, imageId } = good;
  return Array.from({ length: good.count }, (_, index) => index + 1).flatMap((slot) => {
    const { current, next } = view.slots.get(slot) ?? {};
    if (current !== undefined) return [];
    if (next !== undefined && next.appId === good.id)
      return [renameStep(next, containerName(rules.prefix, view.name, slot, 'current'))];
    if (next !== undefined) return [discardStep(next, rules)];
    return [createStep(view.name, slot, { ...good, record }, imageId, rules)];
  });
}
