import { containerName } from '../labels.ts';
import type { Container, Obstacle, Rules, Step } from '../model.ts';
import type { Next } from '../next.ts';
import { portsOf, portsOfAll, sharedPort } from '../ports/ports.ts';
import { type AppView, currentsOf, hasGoodOld, isOfGood, isOfVersion, isUp } from '../view.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { nameTaken, pendingSlots } from './prepare.ts';
import { discardStep, renameStep, stopStep } from './steps.ts';

/** An app whose containers change places. Without a version, all of them leave. */
export interface Swapping {
  view: AppView;
  version: Version | null;
  /** Whether all containers that have taken over so far have passed their gate. */
  hasPassed: boolean;
}

/** What an app has to know of those that change places together with it. */
export interface Handover {
  /** Containers of apps that leave. */
  leavers: readonly Container[];
  /** Whether there are several: then what is too much goes at once. */
  isShared: boolean;
  /** Whether something has to stop yet, before names change hands. */
  isStopping: boolean;
}

/** Returns what apps that change places together have to know of one another. */
export function handoverOf(apps: readonly Swapping[]): Handover {
  const isShared = apps.length > 1;
  return {
    leavers: apps.flatMap(({ view, version }) => (version === null ? currentsOf(view) : [])),
    isShared,
    isStopping: apps.some((app) => runningOf(app, isShared).length > 0),
  };
}

/** Returns why nothing may be stopped now; null if nothing hinders it. */
export function hindranceTo(
  apps: readonly Swapping[],
  { isShared, isStopping }: Handover,
  { actual, rules, disk }: World,
): Obstacle | null {
  if (isStopping && !disk.hasRoomToSwap)
    return { code: 'disk-pressure', text: 'the disk is full, so nothing that runs is stopped' };
  const leaving = apps.flatMap((app) => leavingOf(app, isShared));
  const names = new Set(leaving.map(({ app, slot }) => containerName(rules.prefix, app, slot, 'old')));
  const taken = actual.foreign.find(({ name }) => names.has(name));
  return taken === undefined ? null : nameTaken(taken);
}

/**
 * Lets the staged containers of an app take over: first all that have to go are stopped, then names change hands, and what is
 * new is started when it is seen next.
 */
export function swap(app: Swapping, { isShared, isStopping, leavers }: Handover, world: World): Next {
  const { rules } = world;
  const view = app.version === null ? app.view : withWayBack(app.view, app.version, leavers, world);
  if (isStopping)
    return { view, steps: runningOf(app, isShared).map((container) => stopStep(container, rules)) };
  const retired = leavingOf(app, isShared).map((container) => retireStep(container, view, rules));
  return { view, steps: [...retired, ...promotions(app, rules)] };
}

/** Returns what runs and has to go. What lost its place before holds ports all the same if somebody has started it. */
function runningOf(app: Swapping, isShared: boolean): Container[] {
  return [...leavingOf(app, isShared), ...displacedOf(app.view)].filter(isUp);
}

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
function leavingOf(app: Swapping, isShared: boolean): Container[] {
  const { view, version } = app;
  if (version === null) return currentsOf(view);
  const slots = slotsToReplace(app);
  const needed = portsOfAll(version.record, version.count);
  return currentsOf(view).filter((current) =>
    current.slot > version.count
      ? isShared || sharedPort(current.ports, needed) !== null
      : slots.includes(current.slot) && !isOfVersion(current, version),
  );
}

/**
 * Remembers, before the first container stops, whether what runs is worth going back to. If it has stopped already and
 * that was forgotten, it is; and so is a version that was good, which waits beside one that nobody has judged yet, and an
 * app that leaves, from which the version takes over a port.
 */
function withWayBack(
  view: AppView,
  version: Version,
  leavers: readonly Container[],
  { rules }: World,
): AppView {
  if (view.memory.wayBack?.id === version.id) return view;
  const before = currentsOf(view).filter((current) => !isOfVersion(current, version));
  // What has stopped, without a trouble that is known, was stopped by a swap that was cut short, or by somebody's hand.
  const isUntroubled = view.troubles.heal === undefined;
  const isWell = before.every(
    ({ state, health }) =>
      (state === 'running' && health !== 'unhealthy') || (state === 'exited' && isUntroubled),
  );
  const isThere = before.length > 0 || [...view.slots.values()].some(({ old }) => old !== undefined);
  const ports = portsOfAll(version.record, version.count);
  const hasLeaver = leavers.some((leaver) => sharedPort(leaver.ports, ports) !== null);
  const isGood = rules.rollback && (hasLeaver || (isThere && (isWell || hasGoodOld(view))));
  return { ...view, memory: { ...view.memory, wayBack: { id: version.id, isGood } } };
}

/**
 * A stopped container makes room. The slot can have an old one already: the better of the two is kept to go back to.
 */
export function retireStep(container: Container, view: AppView, rules: Rules): Step {
  const { app, slot } = container;
  const old = view.slots.get(slot)?.old;
  if (old === undefined) return renameStep(container, containerName(rules.prefix, app, slot, 'old'));
  return discardStep(isOfGood(container, view) ? old : container, rules);
}

function promotions(app: Swapping, rules: Rules): Step[] {
  return slotsToReplace(app).flatMap((number) => {
    const { current, next } = app.view.slots.get(number) ?? {};
    if (current !== undefined || next === undefined) return [];
    return [renameStep(next, containerName(rules.prefix, next.app, number, 'current'))];
  });
}
