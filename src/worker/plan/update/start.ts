import { isLeftAlone } from '../heal/endings.ts';
import { heal } from '../heal/heal.ts';
import type { Container } from '../model.ts';
import { joined, type Next, saying } from '../next.ts';
import { isDue, problemOf } from '../session.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { pendingSlots } from './prepare.ts';
import { discardStep } from './steps.ts';
import { isRolling } from './swap.ts';

/** Starts what has taken over of a version, and heals it once it is known to be good. `isFailing`: it was found to fail. */
export function startNew(view: AppView, version: Version, isFailing: boolean, world: World): Next {
  const currents = currentsOf(view).filter((current) => isOfVersion(current, version));
  if (isKnownGood(view, version)) return keepWell(view, currents, version, world);
  const started = startFresh(view, currents, version, world);
  return isFailing ? started : showFresh(started, currents, version, world);
}

function startFresh(view: AppView, currents: readonly Container[], version: Version, world: World): Next {
  const { rules, now } = world;
  const dead = currents.filter(({ state }) => state === 'dead');
  const discards = dead.map((container) => discardStep(container, rules));
  if (!isDue(view.troubles.start, version.id, now)) return { view, steps: discards };
  const starts = toStart(view, currents, version, world).map(
    ({ id: container, app, name }) => ({ do: 'start', app, id: version.id, container, name }) as const,
  );
  return { view, steps: [...discards, ...starts] };
}

function toStart(
  { memory }: AppView,
  currents: readonly Container[],
  { record }: Version,
  { session: { sightings } }: World,
): Container[] {
  const ended = { record, stopped: memory.stopped ?? [] };
  return currents.filter(
    (current) =>
      current.state === 'created' ||
      (current.state === 'exited' &&
        sightings[current.id]?.isRevived !== true &&
        !isLeftAlone(current, ended)),
  );
}

function showFresh(next: Next, currents: readonly Container[], version: Version, world: World): Next {
  const { view } = next;
  const isComing = toStart(view, currents, version, world).length > 0 || currents.some(isDead);
  // Whoever paused a container did so by hand; that does not count against it.
  const paused = currents.filter(({ state }) => state === 'paused');
  if (paused.length > 0) {
    const { problem, ...healing } = heal(view, paused, version, world);
    return joined(next, { ...healing, ...saying('failing', problem) });
  }
  const problem = isComing ? problemOf(view.troubles.start, version.id) : null;
  if (problem !== null) return { ...next, ...saying('failing', problem) };
  const isSwapping = pendingSlots(view, version).length > 0 || isComing;
  return { ...next, ...saying(isSwapping && !isRolling(view, version) ? 'updating' : 'checking') };
}

function isDead({ state }: Container): boolean {
  return state === 'dead';
}

function keepWell(view: AppView, currents: readonly Container[], version: Version, world: World): Next {
  const { problem, ...next } = heal(view, currents, version, world);
  const isWell = problem === null && currents.length >= version.count;
  const isStarting = currents.some(({ state }) => state === 'created');
  return { ...next, ...saying(isWell ? (isStarting ? 'updating' : 'running') : 'failing', problem) };
}
