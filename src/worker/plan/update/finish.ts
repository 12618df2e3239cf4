import type { Draft } from '../draft.ts';
import { type AppView, currentsOf, isKnownGood, NO_MEMORY } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { stagedImage } from './prepare.ts';
import { discardStep } from './steps.ts';

/** All is well: the version is good now, and what is left of earlier ones goes. */
export function finish(view: AppView, version: Version, draft: Draft): void {
  if (!isKnownGood(view, version)) confirm(view, version, draft);
  const rest = leftovers(view, version, draft);
  if (rest.length > 0) showLeftovers(view, draft);
  else draft.clear(view.name, 'change');
  draft.steps.push(...rest);
}

/** What runs is as wanted: that remains cannot be removed is a warning. */
function showLeftovers({ name }: AppView, draft: Draft): void {
  const trouble = draft.trouble(name, 'change');
  if (trouble === undefined) draft.setPhase(name, 'updating');
  else draft.setPhase(name, 'running', { code: trouble.code, text: trouble.text });
}

function confirm(view: AppView, version: Version, draft: Draft): void {
  const { id, source, content, count, record } = version;
  const current = currentsOf(view)[0];
  const imageId = current?.imageId ?? stagedImage(view, version, draft.world.actual);
  const good = { id, source, content, count, imageId, record };
  draft.remember(view.name, { ...NO_MEMORY, good });
  draft.clear(view.name, 'pull', 'create', 'start', 'heal');
  draft.setPhase(view.name, 'running');
}

function leftovers(view: AppView, { count }: Version, draft: Draft) {
  const remains = [...view.slots].flatMap(([number, { current, next, joining, old, failed }]) => [
    next,
    joining,
    old,
    failed,
    number > count ? current : undefined,
  ]);
  return remains
    .filter((container) => container !== undefined)
    .map((container) => discardStep(container, draft));
}
