import type { Draft } from '../draft.ts';
import { containerName } from '../labels.ts';
import type { Container, Step } from '../model.ts';
import { type AppView, isUp, type Slot } from '../view.ts';
import { createStep } from './prepare.ts';
import { discardStep, renameStep, stopStep } from './steps.ts';

/** A version that is taken back. */
export interface Reverting {
  view: AppView;
  /** The id of the version to take back; null for an app that only has to come back. */
  id: number | null;
  source: string;
  /** Whether its containers stay as `.failed`: the mark by which the id is not tried again. */
  keepsFailed: boolean;
}

/**
 * Takes versions back that failed: first all of their containers are stopped, then the old ones get their names again.
 * Returns whether that is done; what has come back is started by `heal`.
 */
export function revert(apps: readonly Reverting[], draft: Draft): boolean {
  const before = draft.steps.length;
  const running = apps.flatMap((app) => ofFailed(app).filter(isUp));
  draft.steps.push(...running.map((container) => stopStep(container, draft)));
  if (running.length > 0) return false;
  for (const app of apps)
    for (const [number, slot] of app.view.slots) draft.steps.push(...stepsFor(app, number, slot, draft));
  if (draft.steps.length > before) return false;
  for (const app of apps) draft.steps.push(...remake(app, draft));
  return draft.steps.length === before;
}

function ofFailed({ view, id, source }: Reverting): Container[] {
  return [...view.slots.values()]
    .flatMap(({ current, next }) => [current, next])
    .filter((container) => container !== undefined)
    .filter((container) => container.appId === id && container.source === source);
}

function stepsFor(app: Reverting, number: number, slot: Slot, draft: Draft): Step[] {
  const { view, id, source, keepsFailed } = app;
  const isFailed = (container: Container | undefined): container is Container =>
    container?.appId === id && container?.source === source;
  if (isFailed(slot.next)) return [discardStep(slot.next, draft)];
  if (isFailed(slot.current)) {
    if (!keepsFailed) return [discardStep(slot.current, draft)];
    if (slot.failed !== undefined) return [discardStep(slot.failed, draft)];
    return [renameStep(slot.current, containerName(draft.world.rules.prefix, view.name, number, 'failed'))];
  }
  if (slot.current !== undefined || slot.old === undefined) return [];
  // What comes back starts at once, however often it was healed before.
  draft.clear(view.name, 'heal');
  return [renameStep(slot.old, containerName(draft.world.rules.prefix, view.name, number, 'current'))];
}

/** Recreates containers of the good version that are gone, from its image. */
function remake({ view }: Reverting, draft: Draft): Step[] {
  const { good } = view.memory;
  const { rules, actual } = draft.world;
  if (good === null || good.record === null || good.imageId === null || !good.record.running) return [];
  if (!actual.images.ids.has(good.imageId) || !draft.isDue(view.name, 'create', good.id)) return [];
  const { record, imageId } = good;
  return Array.from({ length: good.count }, (_, index) => index + 1).flatMap((slot) => {
    const { current, next } = view.slots.get(slot) ?? {};
    if (current !== undefined) return [];
    if (next !== undefined && next.appId === good.id)
      return [renameStep(next, containerName(rules.prefix, view.name, slot, 'current'))];
    if (next !== undefined) return [discardStep(next, draft)];
    return [createStep(view.name, slot, { ...good, record }, imageId, rules)];
  });
}
