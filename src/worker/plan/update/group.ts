import { heal } from '../heal/heal.ts';
import type { Obstacle } from '../model.ts';
import { joined, type Next, saying } from '../next.ts';
import type { Judged } from '../ports/conflicts.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, risenOf } from '../view.ts';
import type { Aim } from '../wanted/judge.ts';
import type { Version } from '../wanted/version.ts';
import type { World } from '../world.ts';
import { bringBack } from './bring-back.ts';
import { finish } from './finish.ts';
import { pendingSlots, prepare, stateWithout } from './prepare.ts';
import { startNew } from './start.ts';
import { stay } from './stay.ts';
import { discardStep } from './steps.ts';
import { stop } from './stop.ts';
import { type Handover, handoverOf, hindranceTo, type Swapping, swap } from './swap.ts';
import { judgeNew } from './verdict.ts';

type Run = Judged & { aim: Extract<Aim, { kind: 'run' }> };

/**
 * Returns what to do next for apps that give up ports to one another; most are alone. In a group, all is staged before
 * anything stops.
 */
export function nextOfGroup(group: readonly Judged[], world: World): Next[] {
  if (group.some(({ view }) => world.busy.has(view.name))) return [];
  const risen = group.filter(({ view }) => risenOf(view).length > 0);
  if (risen.length > 0) return risen.map(({ view }) => stopRisen(view, world));
  const runs = group.filter((app): app is Run => app.aim.kind === 'run');
  const isLeaving = ({ view, aim }: Judged): boolean =>
    aim.kind === 'stop' && runs.length > 0 && currentsOf(view).length > 0;
  const others = group.flatMap((app) => (isLeaving(app) ? [] : nextAlone(app, world)));
  const leaving = group.filter(isLeaving).map(({ view }) => view);
  return runs.length === 0 ? others : [...others, ...nextOfRuns(runs, leaving, world)];
}

function nextAlone({ view, aim }: Judged, world: World): Next[] {
  if (aim.kind === 'stay') return [stay(view, aim, world)];
  return aim.kind === 'stop' ? [stop(view, aim.heir, world)] : [];
}

function stopRisen(view: AppView, world: World): Next {
  const steps = risenOf(view).map((container) => discardStep(container, world.rules));
  return { view, steps, ...saying('updating') };
}

/** An app that is being brought to its version. */
interface Staged {
  next: Next;
  version: Version;
  verdict: 'passed' | 'waiting' | 'failing' | 'taken back';
  /** Whether it can take over. */
  isReady: boolean;
}

function nextOfRuns(runs: readonly Run[], leaving: readonly AppView[], world: World): Next[] {
  const staged = runs.map(({ view, aim }) => stage(view, aim.version, world));
  if (staged.some(({ verdict }) => verdict === 'taken back')) return staged.map(({ next }) => next);
  if (!staged.every(({ isReady }) => isReady)) return waitTogether(staged, leaving);
  const leavers = leaving.map((view): Swapping => ({ view, version: null, hasPassed: true }));
  const swapping = [...staged.map(swappingOf), ...leavers];
  const handover = handoverOf(swapping);
  const obstacle = hindranceTo(swapping, handover, world);
  if (obstacle !== null) return blockAll(staged, leaving, obstacle);
  return [
    ...staged.map((one) => takeOver(one, handover, world)),
    ...leavers.map((app) => ({ ...swap(app, handover, world), ...saying('updating') })),
  ];
}

function swappingOf({ next: { view }, version, verdict }: Staged): Swapping {
  return { view, version, hasPassed: verdict === 'passed' };
}

/** Judges what runs already of the new version, and stages the rest. */
function stage(view: AppView, version: Version, world: World): Staged {
  const { verdict, ...judged } = judgeNew(view, version, world);
  if (verdict === 'taken back') return { next: judged, version, verdict, isReady: false };
  const preparing = prepare(judged.view, version, world);
  if (preparing === null) return { next: judged, version, verdict, isReady: true };
  const next = joined(judged, preparing);
  const meanwhile = bringBack(next.view, version, world) ?? healMeanwhile(next.view, version, world);
  return { next: joined(next, meanwhile), version, verdict, isReady: false };
}

/** While a version is being staged, what runs is kept alive. */
function healMeanwhile(view: AppView, version: Version, world: World): Next {
  const before = currentsOf(view).filter(
    (current) =>
      current.state !== 'created' && (isKnownGood(view, version) || !isOfVersion(current, version)),
  );
  const { problem: _, ...next } = heal(view, before, view.memory.good, world);
  return next;
}

/** Lets an app take over, starts what has done so once all that has to go is stopped, and ends the update of one that has passed. */
function takeOver(staged: Staged, handover: Handover, world: World): Next {
  const { next, version, verdict } = staged;
  const swapped = joined(next, swap(swappingOf(staged), handover, world));
  const started = handover.isStopping
    ? { ...swapped, ...saying('updating') }
    : joined(swapped, startNew(swapped.view, version, verdict === 'failing', world));
  const isOver = verdict === 'passed' && pendingSlots(started.view, version).length === 0;
  return isOver ? joined(started, finish(started.view, version, world)) : started;
}

function waitTogether(staged: readonly Staged[], leaving: readonly AppView[]): Next[] {
  const slow = staged.find(({ next }) => next.says !== undefined)?.next;
  const name = slow?.view.name ?? '';
  // Nobody knows how long a trouble takes: until then, what was to leave is kept.
  const text = `it keeps running until ${name}, which takes over its port, is ready`;
  const isHeld = (slow?.says?.obstacle ?? null) !== null;
  return [
    ...staged.map(({ next }) => ({ ...saying('waiting', exchange(name)), ...next })),
    ...leaving.map((view) => ({
      view,
      steps: [],
      ...(isHeld ? saying('kept', { code: 'port-conflict', text }) : saying('updating')),
    })),
  ];
}

function exchange(name: string): Obstacle {
  return { code: 'port-conflict', text: `it waits for ${name}, with which it exchanges a port` };
}

function blockAll(staged: readonly Staged[], leaving: readonly AppView[], obstacle: Obstacle): Next[] {
  return [
    ...staged.map(({ next }) => ({ ...next, ...saying(stateWithout(next.view), obstacle) })),
    ...leaving.map((view) => ({ view, steps: [], ...saying('kept', obstacle) })),
  ];
}
