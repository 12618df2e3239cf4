import { bringBack } from './bring-back.ts';
import type { Judged } from './conflicts.ts';
import { type Draft, refreshed } from './draft.ts';
import { isLeftAlone } from './endings.ts';
import { verdictOnAll } from './gate.ts';
import { heal } from './heal.ts';
import type { Aim } from './judge.ts';
import type { Container, Obstacle } from './model.ts';
import { isWayBackFree } from './ports.ts';
import { pendingSlots, prepare, problemOf, stagedImage, stateWithout } from './prepare.ts';
import { planStay } from './stay.ts';
import { discardStep, stopStep } from './steps.ts';
import { isRolling, retireStep, type Swapping, swap } from './swap.ts';
import type { Version } from './version.ts';
import { type AppView, currentsOf, isKnownGood, isOfVersion, isUp, NO_MEMORY, risenOf } from './view.ts';

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
  for (const stop of stops) if (!isLeaving(stop)) planStop(stop, draft);
  if (runs.length > 0)
    planRuns(
      runs,
      stops.filter(isLeaving).map(({ view }) => view),
      draft,
    );
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
  startNew(runs, leaving, draft);
  for (const app of swapping) {
    const run = runs.find(({ view }) => view.name === app.view.name);
    if (run !== undefined && app.hasPassed && pendingSlots(app.view, run.aim.version).length === 0)
      finish(run, draft);
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

/** What runs already of a version that is not known to be good: whether it has passed, or has failed and goes back. */
function judgeNew(view: AppView, version: Version, draft: Draft): 'passed' | 'waiting' | 'failed' {
  if (isKnownGood(view, version)) return 'passed';
  const { good } = view.memory;
  const fresh = currentsOf(view).filter(
    (current) =>
      isOfVersion(current, version) &&
      !(version.change === 'scale' && good !== null && current.appId <= good.id && isUp(current)),
  );
  const verdict = verdictOnAll(view.name, fresh, version.record, draft);
  if (verdict.kind !== 'failed') return verdict.kind;
  if (canGoBack(view, version, draft)) {
    takeBack(view, version, verdict.reason, verdict.container ?? null, draft);
    return 'failed';
  }
  const started = fresh.filter(({ state }) => state !== 'created');
  const obstacle = heal(view.name, started, version, draft);
  for (const container of started) draft.sight(container);
  draft.setPhase(view.name, 'failing', obstacle ?? verdict.reason);
  return 'waiting';
}

/** Whether there is something to go back to that was well when it was replaced, and whose ports nobody has taken since. */
function canGoBack({ name, memory, slots }: AppView, { id }: Version, draft: Draft): boolean {
  const { rules, actual } = draft.world;
  if (!rules.rollback || !isWayBackFree(name, memory.good, actual)) return false;
  if (memory.wayBack?.id === id) return memory.wayBack.isGood;
  return [...slots.values()].some(({ old }) => old !== undefined);
}

function takeBack(
  view: AppView,
  { id, content }: Version,
  { code, text }: Obstacle,
  container: Container | null,
  draft: Draft,
): void {
  const failed = { id, content, code, text, since: draft.world.wallTime, log: [] };
  draft.remember(view.name, { failed, retry: null });
  if (container !== null) draft.failures.push({ app: view.name, container: container.id });
  draft.setPhase(view.name, 'updating', { code, text });
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

/** Starts what has taken over, and heals what is known to be good. Nothing starts before all that has to go is stopped. */
function startNew(runs: readonly Run[], leaving: readonly AppView[], draft: Draft): void {
  const names = [...runs.map(({ view }) => view), ...leaving].map(({ name }) => name);
  const isStopping = draft.steps.some((step) => step.do === 'stop' && names.includes(step.app));
  for (const { view, aim } of runs) {
    const { version } = aim;
    if (isStopping) {
      draft.setPhase(view.name, 'updating');
      continue;
    }
    const currents = currentsOf(view).filter((current) => isOfVersion(current, version));
    if (isKnownGood(view, version)) showSteady(view, currents, version, draft);
    else startFresh(view, currents, version, draft);
  }
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

/** All is well: the version is good now, and what is left of earlier ones goes. */
function finish({ view, aim: { version } }: Run, draft: Draft): void {
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

function hasWayBack({ slots }: AppView): boolean {
  return [...slots.values()].some(({ current, old }) => (current ?? old) !== undefined);
}

/** Stops what an heir takes a port over from, and keeps it until that is good. */
function setAside(view: AppView, draft: Draft): void {
  const up = view.containers.filter(isUp);
  if (up.length > 0) draft.steps.push(...up.map((container) => stopStep(container, draft)));
  else draft.steps.push(...currentsOf(view).map((container) => retireStep(container, [view], draft)));
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

/** Stops and removes all containers of an app; those that can come back only once the app's heir is good. */
function planStop({ view, aim: { heir } }: Stop, draft: Draft): void {
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
