import type { Draft } from '../draft.ts';
import { isLeftAlone } from '../heal/endings.ts';
import { heal } from '../heal/heal.ts';
import type { Container } from '../model.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { pendingSlots, problemOf } from './prepare.ts';
import { discardStep } from './steps.ts';
import { isRolling } from './swap.ts';

/** Starts what has taken over of a version, and heals it once it is known to be good. */
export function startNew(view: AppView, version: Version, draft: Draft): void {
  const currents = currentsOf(view).filter((current) => isOfVersion(current, version));
  if (isKnownGood(view, version)) showSteady(view, currents, version, draft);
  else startFresh(view, currents, version, draft);
}

function startFresh(view: AppView, currents: readonly Container[], version: Version, draft: Draft): void {
  const { name } = view;
  const { sightings } = draft.world.session;
  const ended = { record: version.record, stopped: draft.stoppedOf(name) };
  const created = currents.filter(
    (current) =>
      current.state === 'created' ||
      (current.state === 'exited' &&
        sightings[current.id]?.isRevived !== true &&
        !isLeftAlone(current, ended)),
  );
  const dead = currents.filter(({ state }) => state === 'dead');
  draft.steps.push(...dead.map((container) => discardStep(container, draft)));
  if (created.length > 0 && draft.isDue(name, 'start', version.id))
    for (const { id: container, name: its } of created)
      draft.steps.push({ do: 'start', app: name, id: version.id, container, name: its });
  if (draft.phases.get(name)?.state === 'failing') return;
  // Whoever paused a container did so by hand; that does not count against it.
  const paused = currents.filter(({ state }) => state === 'paused');
  const problem =
    paused.length > 0
      ? heal(name, paused, version, draft)
      : created.length + dead.length > 0
        ? problemOf(draft, name, 'start', version.id)
        : null;
  if (problem !== null) {
    draft.setPhase(name, 'failing', problem);
    return;
  }
  const isSwapping = pendingSlots(view, version).length > 0 || created.length + dead.length > 0;
  draft.setPhase(name, isSwapping && !isRolling(view, version) ? 'updating' : 'checking');
}

function showSteady(view: AppView, currents: readonly Container[], version: Version, draft: Draft): void {
  const obstacle = heal(view.name, currents, version, draft);
  const isWell = obstacle === null && currents.length >= version.count;
  const isStarting = currents.some(({ state }) => state === 'created');
  draft.setPhase(view.name, isWell ? (isStarting ? 'updating' : 'running') : 'failing', obstacle);
}
