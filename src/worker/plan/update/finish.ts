import type { Step } from '../model.ts';
import { type Next, saying } from '../next.ts';
import { without } from '../session.ts';
import { type AppView, currentsOf, isKnownGood, NO_MEMORY } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { stagedImage } from './prepare.ts';
import { discardStep } from './steps.ts';

/** All is well: the version is good now, and what is left of earlier ones goes. */
export function finish(before: AppView, version: Version, world: World): Next {
  const isNew = !isKnownGood(before, version);
  const view = isNew ? confirmed(before, version, world) : before;
  const steps = leftovers(view, version, world);
  if (steps.length > 0) return { view, steps, ...showLeftovers(view) };
  const troubles = without(view.troubles, 'change');
  return { view: { ...view, troubles }, steps, ...(isNew && saying('running')) };
}

/** What runs is as wanted: that remains cannot be removed is a warning. */
function showLeftovers({ troubles: { change } }: AppView) {
  return change === undefined
    ? saying('updating')
    : saying('running', { code: change.code, text: change.text });
}

function confirmed(view: AppView, version: Version, { actual }: World): AppView {
  const { id, source, content, count, record } = version;
  const imageId = currentsOf(view)[0]?.imageId ?? stagedImage(view, version, actual);
  const good = { id, source, content, count, imageId, record };
  return {
    ...view,
    memory: { ...view.memory, ...NO_MEMORY, good },
    troubles: without(view.troubles, 'pull', 'create', 'start', 'heal'),
  };
}

function leftovers(view: AppView, { count }: Version, { rules }: World): Step[] {
  const remains = [...view.slots].flatMap(([number, { current, next, joining, old, failed }]) => [
    next,
    joining,
    old,
    failed,
    number > count ? current : undefined,
  ]);
  return remains
    .filter((container) => container !== undefined)
    .map((container) => discardStep(container, rules));
}
