import type { Draft } from '../draft.ts';
import { type AppView, currentsOf, isUp, NO_MEMORY } from '../view.ts';
import { discardStep, stopStep } from './steps.ts';
import { retireStep } from './swap.ts';

/** Stops and removes all containers of an app; those that can come back only once the app's heir is good. */
export function planStop(view: AppView, heir: string | null, draft: Draft): void {
  const { name, wanted, containers } = view;
  if (heir !== null && hasWayBack(view)) {
    setAside(view, draft);
    return;
  }
  for (const container of containers) draft.steps.push(discardStep(container, draft));
  if (containers.length > 0) {
    showStopping(view, draft);
    return;
  }
  if (wanted === null) {
    draft.forget(name);
    return;
  }
  if (wanted.record !== null && view.memory.good?.id !== wanted.id) {
    const { id, content, count, record } = wanted;
    const source = draft.world.wanted?.source ?? '';
    const good = { id, source, content, count, imageId: null, record };
    draft.remember(name, { ...NO_MEMORY, good });
    draft.clear(name, 'pull', 'create', 'start', 'heal');
  }
  draft.setPhase(name, 'stopped');
}

function hasWayBack({ slots }: AppView): boolean {
  return [...slots.values()].some(({ current, old }) => (current ?? old) !== undefined);
}

/** Stops what an heir takes a port over from, and keeps it until that is good. */
function setAside(view: AppView, draft: Draft): void {
  const up = view.containers.filter(isUp);
  if (up.length > 0) draft.steps.push(...up.map((container) => stopStep(container, draft)));
  else draft.steps.push(...currentsOf(view).map((container) => retireStep(container, view, draft)));
  draft.setPhase(view.name, 'updating');
}

function showStopping({ name, containers }: AppView, draft: Draft): void {
  const trouble = draft.trouble(name, 'change');
  if (trouble === undefined) draft.setPhase(name, 'updating');
  else
    draft.setPhase(name, containers.some(isUp) ? 'failing' : 'stopped', {
      code: trouble.code,
      text: trouble.text,
    });
}
