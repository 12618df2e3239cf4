import { type Next, saying } from '../next.ts';
import { without } from '../session.ts';
import { type AppView, currentsOf, isUp, NO_MEMORY } from '../view.ts';
import type { World } from '../world.ts';
import { discardStep, stopStep } from './steps.ts';
import { retireStep } from './swap.ts';

/** Stops and removes all containers of an app; those that can come back only once the app's heir is good. */
export function stop(view: AppView, heir: string | null, world: World): Next {
  const { wanted, containers } = view;
  if (heir !== null && hasWayBack(view)) return setAside(view, world);
  if (containers.length > 0) {
    const steps = containers.map((container) => discardStep(container, world.rules));
    return { view, steps, ...stopping(view) };
  }
  if (wanted === null) return { view, steps: [], isGone: true };
  return { view: stopped(view, world), steps: [], ...saying('stopped') };
}

/** That an app is stopped is a version of it, which is good. */
function stopped(view: AppView, world: World): AppView {
  const { wanted, memory, troubles } = view;
  if (wanted === null || wanted.record === null || memory.good?.id === wanted.id) return view;
  const { id, content, count, record } = wanted;
  const good = { id, source: world.wanted?.source ?? '', content, count, imageId: null, record };
  return {
    ...view,
    memory: { ...memory, ...NO_MEMORY, good },
    troubles: without(troubles, 'pull', 'create', 'start', 'heal'),
  };
}

function hasWayBack({ slots }: AppView): boolean {
  return [...slots.values()].some(({ current, old }) => (current ?? old) !== undefined);
}

/** Stops what an heir takes a port over from, and keeps it until that is good. */
function setAside(view: AppView, { rules }: World): Next {
  const up = view.containers.filter(isUp);
  const steps =
    up.length > 0
      ? up.map((container) => stopStep(container, rules))
      : currentsOf(view).map((container) => retireStep(container, view, rules));
  return { view, steps, ...saying('updating') };
}

function stopping({ containers, troubles: { change } }: AppView) {
  if (change === undefined) return saying('updating');
  const { code, text } = change;
  return saying(containers.some(isUp) ? 'failing' : 'stopped', { code, text });
}
