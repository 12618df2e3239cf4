import type { AppRecord } from '../../../protocol/info.ts';
import type { Container, Obstacle, Step } from '../model.ts';
import type { Next } from '../next.ts';
import { afterFailure, FORGIVEN_AFTER, isDue, without } from '../session.ts';
import { discardStep } from '../update/steps.ts';
import type { AppView } from '../view.ts';
import type { World } from '../world.ts';
import { hasEndedWell, isLeftAlone } from './endings.ts';

/** What is known of containers that nobody remembers. */
const UNKNOWN = { id: 0, record: null };

/** Seconds. */
const LONG_ENOUGH = 60;

/** What is done for containers, and what is wrong with them; null if all is well. */
type Healing = Pick<Next, 'view' | 'steps'> & { problem: Obstacle | null };

/**
 * Starts again what has stopped, by itself or by somebody's hand, and restarts what is unhealthy. The first time at once,
 * then with growing delays; but not what its app wants to be left alone. `version`: what they were made for; null if it is not
 * known.
 */
export function heal(
  view: AppView,
  containers: readonly Container[],
  version: { id: number; record: AppRecord | null } | null,
  world: World,
): Healing {
  const { record } = version ?? UNKNOWN;
  const isChanging = view.containers.some(({ role }) => role !== 'current');
  const ended = { record, stopped: view.memory.stopped ?? [], isChanging };
  const sick = containers.flatMap((container) => {
    const problem = hasEndedWell(container, ended) ? null : problemWith(container);
    return problem === null ? [] : [{ container, problem }];
  });
  const [any] = sick;
  if (any === undefined) return { view: forgiven(view, world), steps: [], problem: null };
  const curable = sick.filter(({ container }) => !isLeftAlone(container, ended));
  if (curable.length > 0) return cure(view, curable, version ?? UNKNOWN, world);
  const text = `${any.problem.text}; restart: ${record?.restart}`;
  return { view, steps: [], problem: { ...any.problem, text } };
}

function cure(
  view: AppView,
  sick: readonly { container: Container; problem: Obstacle }[],
  { id, record }: { id: number; record: AppRecord | null },
  world: World,
): Healing {
  const isLost = ({ container }: (typeof sick)[number]): boolean =>
    container.state === 'dead' && record !== null;
  const [lost, others] = [sick.filter(isLost), sick.filter((one) => !isLost(one))];
  const discards = lost.map(({ container }) => discardStep(container, world.rules));
  // One that was recreated only has to be started. If that counted, the next failure would have to wait.
  const fallen = others.find(({ container }) => container.state !== 'created');
  const hasRun = others.some(({ container }) => hasRunWell(container, world));
  const before = hasRun ? without(view.troubles, 'heal') : view.troubles;
  const isTried = isDue(before.heal, id, world.now);
  const remedies = isTried ? others.flatMap(({ container }) => remedyFor(container, id, world) ?? []) : [];
  const troubles =
    isTried && fallen !== undefined ? afterFailure(before, 'heal', { ...fallen.problem, id }, world) : before;
  return {
    view: { ...view, troubles },
    steps: [...discards, ...remedies],
    problem: troubles.heal ?? fallen?.problem ?? lost[0]?.problem ?? null,
  };
}

/** One that somebody killed after it ran for a while is no crash loop: as with an engine, earlier failures no longer count. */
function hasRunWell({ id, state }: Container, { session }: World): boolean {
  const { since = 0, until = since } = session.sightings[id] ?? {};
  return state === 'exited' && until - since >= LONG_ENOUGH;
}

function problemWith({ name, state, health, exitCode }: Container): Obstacle | null {
  if (state === 'running')
    return health === 'unhealthy' ? { code: 'unhealthy', text: `the health check of ${name} fails` } : null;
  if (state === 'removing') return null;
  if (state === 'restarting')
    return { code: 'crashed', text: `${name} ends again and again; the engine restarts it` };
  if (state === 'paused') return { code: 'crashed', text: `${name} was paused` };
  const how = exitCode === null ? '' : ` (exit code ${exitCode})`;
  return { code: 'crashed', text: `${name} had stopped${how}` };
}

/** A container that the engine restarts by itself is left to it, and one that nobody could recreate is kept. */
function remedyFor(
  { id: container, app, name, state, stopTimeout }: Container,
  id: number,
  { disk, rules }: World,
): Step | null {
  if (state === 'created' || state === 'exited' || state === 'dead')
    return { do: 'start', app, id, container, name };
  if (state === 'restarting' || !disk.hasRoomToSwap) return null;
  return { do: 'restart', app, container, name, grace: stopTimeout ?? rules.stopTimeout };
}

function forgiven(view: AppView, { now }: World): AppView {
  const { heal: trouble } = view.troubles;
  if (trouble === undefined || now < trouble.nextTry + FORGIVEN_AFTER) return view;
  return { ...view, troubles: without(view.troubles, 'heal') };
}
