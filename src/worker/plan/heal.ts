import type { Draft } from './draft.ts';
import type { Container, Obstacle, Step } from './model.ts';
import { FORGIVEN_AFTER } from './session.ts';

/**
 * Starts again what has stopped, by itself or by somebody's hand, and restarts what is unhealthy. The first time at once,
 * then with growing delays. `id` is that of the version. Returns what is wrong; null if all is well.
 */
export function heal(
  app: string,
  containers: readonly Container[],
  id: number,
  draft: Draft,
): Obstacle | null {
  const sick = containers.flatMap((container) => {
    const problem = problemWith(container);
    return problem === null ? [] : [{ container, problem }];
  });
  const first = sick[0];
  if (first === undefined) return forgive(app, draft);
  if (draft.isDue(app, 'heal', id)) {
    const steps = sick.flatMap(({ container }) => remedyFor(container, id, draft) ?? []);
    draft.steps.push(...steps);
    draft.note(app, 'heal', { ...first.problem, id });
  }
  return draft.trouble(app, 'heal') ?? first.problem;
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

/** A container that the engine restarts by itself is left to it. */
function remedyFor({ id: container, app, name, state }: Container, id: number, draft: Draft): Step | null {
  if (state === 'created' || state === 'exited') return { do: 'start', app, id, container, name };
  if (state === 'dead') return { do: 'remove', app, container, name };
  if (state === 'restarting' || !draft.world.disk.hasRoomToSwap) return null;
  return { do: 'restart', app, container, name, grace: draft.world.rules.stopTimeout };
}

function forgive(app: string, draft: Draft): null {
  const trouble = draft.trouble(app, 'heal');
  if (trouble !== undefined && draft.world.now >= trouble.nextTry + FORGIVEN_AFTER) draft.clear(app, 'heal');
  return null;
}
