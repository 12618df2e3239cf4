import type { TroubleCode } from '../../protocol/report.ts';
import type { Draft } from './draft.ts';
import type { Container, Obstacle, Rules } from './model.ts';
import type { Session } from './session.ts';

/** Whether a new container does what it should: yes, not yet, or no and why. */
export type Verdict = { kind: 'passed' } | { kind: 'waiting' } | { kind: 'failed'; reason: Obstacle };

const PASSED: Verdict = { kind: 'passed' };
const WAITING: Verdict = { kind: 'waiting' };

/**
 * Judges a new container. With a health check it has to become healthy in its own time, or HEALTH_WAIT if that is longer;
 * without one it has to run for a while. The engine restarts what ends by itself, which counts as a failure. One that
 * stays down was stopped by somebody, or by a crash of the engine, and is started again; but only once.
 */
function verdictOn(container: Container, { sightings }: Session, rules: Rules, now: number): Verdict {
  const sighting = sightings[container.id];
  if (sighting === undefined) return WAITING;
  const { name, state, restarts, exitCode } = container;
  if (state === 'exited' && sighting.isRevived !== true) return WAITING;
  if (state === 'exited' || state === 'dead')
    return failed('crashed', `${name} ended with exit code ${exitCode ?? 'unknown'}`);
  if (restarts > sighting.restarts || state === 'restarting')
    return failed('crashed', `${name} ended and was restarted by the engine`);
  return state === 'running' ? verdictOnRunning(container, now - sighting.since, rules) : WAITING;
}

/** `age`: seconds for which it has been watched. */
function verdictOnRunning({ name, health, healthLimit }: Container, age: number, rules: Rules): Verdict {
  if (health === 'none') return age >= rules.settleTime ? PASSED : WAITING;
  if (health === 'healthy') return PASSED;
  if (health === 'unhealthy') return failed('unhealthy', `the health check of ${name} fails`);
  const limit = Math.max(rules.healthWait, healthLimit ?? 0);
  return age < limit ? WAITING : failed('unhealthy', `${name} was not healthy after ${Math.round(limit)} s`);
}

function failed(code: TroubleCode, text: string): Verdict {
  return { kind: 'failed', reason: { code, text } };
}

/** Returns the sightings after one more look: what runs is remembered, what is gone is forgotten. */
export function lookAt(
  containers: readonly Container[],
  { sightings }: Session,
  now: number,
): Session['sightings'] {
  return Object.fromEntries(
    containers.flatMap(({ id, state, restarts }) => {
      const sighting = sightings[id];
      if (sighting !== undefined)
        return [[id, { ...sighting, restarts: Math.min(sighting.restarts, restarts) }]];
      return state === 'running' || state === 'restarting' ? [[id, { since: now, restarts }]] : [];
    }),
  );
}

/** The verdict on all new containers of an app: the first failure, else whether all have passed. */
export function verdictOnAll(
  containers: readonly Container[],
  { world: { session, rules, now } }: Draft,
): Verdict & { container?: Container } {
  let hasAllPassed = true;
  for (const container of containers) {
    const verdict = verdictOn(container, session, rules, now);
    if (verdict.kind === 'failed') return { ...verdict, container };
    hasAllPassed &&= verdict.kind === 'passed';
  }
  return hasAllPassed ? PASSED : WAITING;
}
