import type { AppRecord } from '../../../protocol/info.ts';
import type { Draft } from '../draft.ts';
import type { Container, Obstacle, Step } from '../model.ts';
import { FORGIVEN_AFTER } from '../session.ts';
import { discardStep } from '../update/steps.ts';
import { hasEndedWell, isLeftAlone } from './endings.ts';

/** What is known of containers that nobody remembers. */
const UNKNOWN = { id: 0, record: null };

/** Seconds. */
const LONG_ENOUGH = 60;

/**
 * Starts again what has stopped, by itself or by somebody's hand, and restarts what is unhealthy. The first time at once,
 * then with growing delays; but not what its app wants to be left alone. `version`: what they were made for; null if it is not
 * known. Returns what is wrong; null if all is well.
 */
export function heal(
  app: string,
  containers: readonly Container[],
  version: { id: number; record: AppRecord | null } | null,
  draft: Draft,
): Obstacle | null {
  const { id, record } = version ?? UNKNOWN;
  const isChanging = draft.world.actual.containers.some((one) => one.app === app && one.role !== 'current');
  const ended = { record, stopped: draft.stoppedOf(app), isChanging };
  const sick = containers.flatMap((container) => {
    const problem = hasEndedWell(container, ended) ? null : problemWith(container);
    return problem === null ? [] : [{ container, problem }];
  });
  const [any] = sick;
  if (any === undefined) return forgive(app, draft);
  const curable = sick.filter(({ container }) => !isLeftAlone(container, ended));
  if (curable.length === 0)
    return { ...any.problem, text: `${any.problem.text}; restart: ${record?.restart}` };
  const dead = curable.filter(({ container }) => container.state === 'dead' && record !== null);
  draft.steps.push(...dead.map(({ container }) => discardStep(container, draft)));
  const others = curable.filter((one) => !dead.includes(one));
  // One that was recreated only has to be started. If that counted, the next failure would have to wait.
  const fallen = others.find(({ container }) => container.state !== 'created');
  if (others.some((one) => hasRunWell(one.container, draft))) draft.clear(app, 'heal');
  if (draft.isDue(app, 'heal', id)) {
    draft.steps.push(...others.flatMap(({ container }) => remedyFor(container, id, draft) ?? []));
    if (fallen !== undefined) draft.note(app, 'heal', { ...fallen.problem, id });
  }
  return draft.trouble(app, 'heal') ?? fallen?.problem ?? dead[0]?.problem ?? null;
}

/** One that somebody killed after it ran for a while is no crash loop: as with an engine, earlier failures no longer count. */
function hasRunWell({ id, state }: Container, draft: Draft): boolean {
  const { since = 0, until = since } = draft.world.session.sightings[id] ?? {};
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
  draft: Draft,
): Step | null {
  if (state === 'created' || state === 'exited' || state === 'dead')
    return { do: 'start', app, id, container, name };
  if (state === 'restarting' || !draft.world.disk.hasRoomToSwap) return null;
  return { do: 'restart', app, container, name, grace: stopTimeout ?? draft.world.rules.stopTimeout };
}

function forgive(app: string, draft: Draft): null {
  const trouble = draft.trouble(app, 'heal');
  if (trouble !== undefined && draft.world.now >= trouble.nextTry + FORGIVEN_AFTER) draft.clear(app, 'heal');
  return null;
}
