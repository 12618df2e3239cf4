import type { Draft } from '../draft.ts';
import { containerName } from '../labels.ts';
import type { Container, Obstacle, Step } from '../model.ts';
import { portsOf, portsOfAll, sharedPort } from '../ports/ports.ts';
import { type AppView, currentsOf, hasGoodOld, isOfGood, isOfVersion, isUp } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import { nameTaken, pendingSlots } from './prepare.ts';
import { discardStep, renameStep, stopStep } from './steps.ts';

/** An app whose containers change places. Without a version, all of them leave. */
export interface Swapping {
  view: AppView;
  version: Version | null;
  /** Whether all containers that have taken over so far have passed their gate. */
  hasPassed: boolean;
}

/**
 * Lets staged containers take over: first all that have to go are stopped, then names change hands, and what is new is
 * started when it is seen next. Returns why nothing may be stopped now; null if nothing hinders it.
 */
export function swap(apps: readonly Swapping[], draft: Draft): Obstacle | null {
  const leaving = apps.flatMap((app) => leavingOf(app, apps.length > 1));
  const running = [...leaving, ...apps.flatMap(({ view }) => displacedOf(view))].filter(isUp);
  if (running.length > 0 && !draft.world.disk.hasRoomToSwap)
    return { code: 'disk-pressure', text: 'the disk is full, so nothing that runs is stopped' };
  const taken = foreignWithOldName(leaving, draft);
  if (taken !== undefined) return nameTaken(taken);
  const leavers = apps.flatMap(({ view, version }) => (version === null ? currentsOf(view) : []));
  for (const { view, version } of apps) if (version !== null) noteWayBack(view, version, leavers, draft);
  if (running.length > 0) {
    draft.steps.push(...running.map((container) => stopStep(container, draft)));
    return null;
  }
  for (const app of apps) {
    const own = leaving.filter((container) => container.app === app.view.name);
    draft.steps.push(...own.map((container) => retireStep(container, app.view, draft)));
    draft.steps.push(...promotions(app, draft));
  }
  return null;
}

/** Returns a container of somebody else that has the name under which one that leaves would be kept. */
function foreignWithOldName(leaving: readonly Container[], { world: { actual, rules } }: Draft) {
  const names = new Set(leaving.map(({ app, slot }) => containerName(rules.prefix, app, slot, 'old')));
  return actual.foreign.find(({ name }) => names.has(name));
}

/** Returns the containers that have lost their place. They hold ports all the same if somebody has started them. */
function displacedOf({ slots }: AppView): Container[] {
  const kept = [...slots.values()].flatMap(({ joining, old, failed }) => [joining, old, failed]);
  return kept.filter((container) => container !== undefined);
}

/** Returns the slots that are replaced now: all, or with a rolling restart the next one, once the last one is well. */
function slotsToReplace({ view, version, hasPassed }: Swapping): number[] {
  if (version === null) return [];
  const pending = pendingSlots(view, version);
  if (!isRolling(view, version)) return pending;
  return hasPassed ? pending.slice(0, 1) : [];
}

/** Whether slots are replaced one by one: as the app asks for, unless a slot needs the port of another one. */
export function isRolling(view: AppView, { record, count }: Version): boolean {
  if (!record.rolling_restart) return false;
  return currentsOf(view).every(({ slot, ports }) => {
    const others = portsOfAll(record, count).filter(
      (port) => sharedPort([port], portsOf(record, slot)) === null,
    );
    return sharedPort(ports, others) === null;
  });
}

/**
 * Returns the current containers that have to go now. What is too much in one app alone goes only once the rest is well,
 * unless it holds a port that the rest needs.
 */
function leavingOf(app: Swapping, isHandover: boolean): Container[] {
  const { view, version } = app;
  if (version === null) return currentsOf(view);
  const slots = slotsToReplace(app);
  const needed = portsOfAll(version.record, version.count);
  return currentsOf(view).filter((current) =>
    current.slot > version.count
      ? isHandover || sharedPort(current.ports, needed) !== null
      : slots.includes(current.slot) && !isOfVersion(current, version),
  );
}

/**
 * Remembers, before the first container stops, whether what runs is worth going back to. If it has stopped already and
 * that was forgotten, it is; and so is a version that was good, which waits beside one that nobody has judged yet, and an
 * app that leaves, from which the version takes over a port.
 */
function noteWayBack(view: AppView, version: Version, leavers: readonly Container[], draft: Draft): void {
  if (view.memory.wayBack?.id === version.id) return;
  const before = currentsOf(view).filter((current) => !isOfVersion(current, version));
  // What has stopped, without a trouble that is known, was stopped by a swap that was cut short, or by somebody's hand.
  const isUntroubled = draft.trouble(view.name, 'heal') === undefined;
  const isWell = before.every(
    ({ state, health }) =>
      (state === 'running' && health !== 'unhealthy') || (state === 'exited' && isUntroubled),
  );
  const isThere = before.length > 0 || [...view.slots.values()].some(({ old }) => old !== undefined);
  const ports = portsOfAll(version.record, version.count);
  const hasLeaver = leavers.some((leaver) => sharedPort(leaver.ports, ports) !== null);
  const isGood = draft.world.rules.rollback && (hasLeaver || (isThere && (isWell || hasGoodOld(view))));
  draft.remember(view.name, { wayBack: { id: version.id, isGood } });
}

/**
 * A stopped container makes room. The slot can have an old one already: the better of the two is kept to go back to.
 */
export function retireStep(container: Container, view: AppView, draft: Draft): Step {
  const { app, slot } = container;
  const old = view.slots.get(slot)?.old;
  if (old === undefined)
    return renameStep(container, containerName(draft.world.rules.prefix, app, slot, 'old'));
  return discardStep(isOfGood(container, view) ? old : container, draft);
}

function promotions(app: Swapping, draft: Draft): Step[] {
  return slotsToReplace(app).flatMap((number) => {
    const { current, next } = app.view.slots.get(number) ?? {};
    if (current !== undefined || next === undefined) return [];
    return [renameStep(next, containerName(draft.world.rules.prefix, next.app, number, 'current'))];
  });
}
