import type { AppRecord } from '../../../protocol/info.ts';
import type { TroubleCode } from '../../../protocol/report.ts';
import { type Ended, hasEndedWell, isLeftAlone } from '../heal/endings.ts';
import type { Container, Obstacle, Rules } from '../model.ts';
import type { Session } from '../session.ts';
import type { AppView } from '../view.ts';
import type { World } from '../world.ts';

/** Whether a new container does what it should: yes, not yet, or no and why. */
export type Verdict = { kind: 'passed' } | { kind: 'waiting' } | { kind: 'failed'; reason: Obstacle };

const PASSED: Verdict = { kind: 'passed' };
const WAITING: Verdict = { kind: 'waiting' };

/**
 * Judges a new container. With a health check it has to become healthy in its own time, or HEALTH_WAIT if that is longer;
 * without one it has to run for a while. The engine restarts what ends by itself, which counts as a failure. One that
 * stays down was stopped by somebody, or by a crash of the engine, and is started again; but only once, and not if its app
 * wants it to be left alone. One that may end has passed once it has ended well.
 */
function verdictOn(
  container: Container,
  ended: Ended,
  { sightings }: Session,
  rules: Rules,
  now: number,
): Verdict {
  const { id, name, state, restarts } = container;
  const sighting = sightings[id];
  if (state === 'exited' || state === 'dead') return verdictOnEnded(container, ended, sighting);
  if (sighting === undefined) return WAITING;
  if (restarts > sighting.restarts || state === 'restarting')
    return failed('crashed', `${name} ended and was restarted by the engine`);
  return state === 'running' ? verdictOnRunning(container, now - sighting.since, rules) : WAITING;
}

function verdictOnEnded(
  container: Container,
  ended: Ended,
  sighting: Session['sightings'][string] | undefined,
): Verdict {
  if (hasEndedWell(container, ended)) return PASSED;
  const { name, state, exitCode } = container;
  const wasTriedAgain = sighting !== undefined && (state === 'dead' || sighting.isRevived === true);
  return wasTriedAgain || isLeftAlone(container, ended)
    ? failed('crashed', `${name} ended with exit code ${exitCode ?? 'unknown'}`)
    : WAITING;
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
        return [
          [
            id,
            {
              ...sighting,
              restarts: Math.min(sighting.restarts, restarts),
              ...(state === 'running' && { until: now }),
            },
          ],
        ];
      return state === 'running' || state === 'restarting' ? [[id, { since: now, restarts }]] : [];
    }),
  );
}

/** The verdict on all new containers of an app: the first failure, else whether all have passed. */
export function verdictOnAll(
  { memory }: AppView,
  containers: readonly Container[],
  record: AppRecord,
  { session, rules, now }: World,
): Verdict & { container?: Container } {
  const ended = { record, stopped: memory.stopped ?? [] };
  let hasAllPassed = true;
  for (const container of containers) {
    const verdict = verdictOn(container, ended, session, rules, now);
    if (verdict.kind === 'failed') return { ...verdict, container };
    hasAllPassed &&= verdict.kind === 'passed';
  }
  return hasAllPassed ? PASSED : WAITING;
}
