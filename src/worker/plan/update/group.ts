import { type Draft, refreshed } from '../draft.ts';
import { heal } from '../heal/heal.ts';
import type { Container, Obstacle } from '../model.ts';
import type { Judged } from '../ports/conflicts.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, risenOf } from '../view.ts';
import type { Aim } from '../wanted/judge.ts';
import type { Version } from '../wanted/version.ts';
import { bringBack } from './bring-back.ts';
import { finish } from './finish.ts';
import { pendingSlots, prepare, stateWithout } from './prepare.ts';
import { startNew } from './start.ts';
import { planStay } from './stay.ts';
import { discardStep } from './steps.ts';
import { planStop } from './stop.ts';
import { type Swapping, swap } from './swap.ts';
import { judgeNew } from './verdict.ts';

type Run = Judged & { aim: Extract<Aim, { kind: 'run' }> };
type Stop = Judged & { aim: Extract<Aim, { kind: 'stop' }> };

/**
 * Plans the next steps of apps that give up ports to one another; most are alone. In a group, all is staged before anything
 * stops.
 */
export function planGroup(group: readonly Judged[], draft: Draft): void {
  if (group.some(({ view }) => draft.world.busy.has(view.name))) return;
  const risen = group.flatMap(({ view }) => risenOf(view));
  if (risen.length > 0) {
    stopRisen(risen, draft);
    return;
  }
  for (const { view, aim } of group) if (aim.kind === 'stay') planStay(view, aim, draft);
  const runs = group.filter((app): app is Run => app.aim.kind === 'run');
  const stops = group.filter((app): app is Stop => app.aim.kind === 'stop');
  const isLeaving = ({ view }: Stop): boolean => runs.length > 0 && currentsOf(view).length > 0;
  for (const stop of stops) if (!isLeaving(stop)) planStop(stop.view, stop.aim.heir, draft);
  const leaving = stops.filter(isLeaving).map(({ view }) => view);
  if (runs.length > 0) planRuns(runs, leaving, draft);
}

function stopRisen(risen: readonly Container[], draft: Draft): void {
  for (const container of risen) {
    draft.steps.push(discardStep(container, draft));
    draft.setPhase(container.app, 'updating');
  }
}

function planRuns(runs: readonly Run[], leaving: readonly AppView[], draft: Draft): void {
  const swapping = stageAll(runs, draft);
  if (swapping === 'failed') return;
  if (swapping === 'waiting') {
    waitTogether(runs, leaving, draft);
    return;
  }
  for (const view of leaving) swapping.push({ view, version: null, hasPassed: true });
  const obstacle = swap(swapping, draft);
  if (obstacle !== null) {
    blockAll(runs, leaving, obstacle, draft);
    return;
  }
  for (const { name } of leaving) draft.setPhase(name, 'updating');
  startAll(swapping, draft);
}

/** Starts what has taken over, once all that has to go is stopped, and ends the updates of what has passed. */
function startAll(swapping: readonly Swapping[], draft: Draft): void {
  const names = swapping.map(({ view }) => view.name);
  const isStopping = draft.steps.some((step) => step.do === 'stop' && names.includes(step.app));
  for (const { view, version, hasPassed } of swapping) {
    if (version === null) continue;
    if (isStopping) draft.setPhase(view.name, 'updating');
    else startNew(view, version, draft);
    if (hasPassed && pendingSlots(view, version).length === 0) finish(view, version, draft);
  }
}

/** Judges what runs already of the new versions, and stages the rest. Returns what is ready to take over. */
function stageAll(runs: readonly Run[], draft: Draft): Swapping[] | 'waiting' | 'failed' {
  const swapping: Swapping[] = [];
  let isReady = true;
  for (const { view, aim } of runs) {
    const { version } = aim;
    const verdict = judgeNew(view, version, draft);
    if (verdict === 'failed') return 'failed';
    swapping.push({ view: refreshed(view, draft), version, hasPassed: verdict === 'passed' });
    if (prepare(view, version, draft)) continue;
    isReady = false;
    if (!bringBack(view, version, draft)) healMeanwhile(view, version, draft);
  }
  return isReady ? swapping : 'waiting';
}

/** While a version is being staged, what runs is kept alive. */
function healMeanwhile(view: AppView, version: Version, draft: Draft): void {
  const before = currentsOf(view).filter(
    (current) =>
      current.state !== 'created' && (isKnownGood(view, version) || !isOfVersion(current, version)),
  );
  heal(view.name, before, view.memory.good, draft);
}

function waitTogether(runs: readonly Run[], leaving: readonly AppView[], draft: Draft): void {
  const slow = runs.find(({ view }) => draft.phases.has(view.name))?.view.name ?? '';
  for (const { view } of runs)
    if (!draft.phases.has(view.name)) {
      const text = `it waits for ${slow}, with which it exchanges a port`;
      draft.setPhase(view.name, 'waiting', { code: 'port-conflict', text });
    }
  // Nobody knows how long a trouble takes: until then, what was to leave is kept.
  const text = `it keeps running until ${slow}, which takes over its port, is ready`;
  const isHeld = (draft.phases.get(slow)?.obstacle ?? null) !== null;
  for (const { name } of leaving)
    if (isHeld) draft.setPhase(name, 'kept', { code: 'port-conflict', text });
    else draft.setPhase(name, 'updating');
}

function blockAll(runs: readonly Run[], leaving: readonly AppView[], obstacle: Obstacle, draft: Draft): void {
  for (const { view } of runs) draft.setPhase(view.name, stateWithout(view), obstacle);
  for (const { name } of leaving) draft.setPhase(name, 'kept', obstacle);
}
