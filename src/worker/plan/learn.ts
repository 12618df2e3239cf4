import type { TroubleCode } from '../../protocol/report.ts';
import type { AppMemory, Memory } from './memory.ts';
import type { Actual, Step } from './model.ts';
import { isWayBackFree } from './ports/ports.ts';
import { afterFailure, type Lane, type Moment, type Session, type Troubles, without } from './session.ts';
import { NO_MEMORY } from './view.ts';

/** How a step ended. */
export type StepResult =
  | { ok: true; step: Step; imageId?: string }
  /**
   * `isOutage`: the engine went away, which is nobody's fault. `isStuck`: because of an earlier outage, the container cannot
   * be started any more.
   */
  | { ok: false; step: Step; code: TroubleCode; text: string; isOutage?: boolean; isStuck?: boolean };

/** What the worker knows. */
export interface Knowledge {
  memory: Memory;
  session: Session;
}

/** Returns what the worker knows after a step, which may have failed. */
export function learn(known: Knowledge, result: StepResult, actual: Actual, moment: Moment): Knowledge {
  return result.ok
    ? learnSuccess(known, result, actual, moment)
    : learnFailure(known, result, actual, moment);
}

function learnSuccess(
  known: Knowledge,
  { step, imageId }: Extract<StepResult, { ok: true }>,
  actual: Actual,
  { now, wallTime }: Moment,
): Knowledge {
  const { memory, session } = known;
  if (step.do === 'pull' && imageId !== undefined) {
    const pulled = { ...memory.pulled, [imageId]: { reference: step.image, lastUse: wallTime } };
    return {
      memory: withApp({ ...memory, pulled }, step.app, { staged: { id: step.id, imageId } }),
      session: withTroubles(session, step.app, (before) => without(before, 'pull')),
    };
  }
  if (step.do === 'create')
    return {
      memory: withUse(memory, step.imageId, wallTime),
      session: withTroubles(session, step.app, (before) => without(before, 'create')),
    };
  return step.do === 'start' || step.do === 'restart' ? learnStart(known, step, actual, now) : known;
}

function withApp(memory: Memory, app: string, change: Partial<AppMemory>): Memory {
  return {
    ...memory,
    apps: { ...memory.apps, [app]: { ...(memory.apps[app] ?? NO_MEMORY), ...change } },
  };
}

function withUse(memory: Memory, imageId: string, lastUse: number): Memory {
  const used = memory.pulled[imageId];
  if (used === undefined) return memory;
  return { ...memory, pulled: { ...memory.pulled, [imageId]: { ...used, lastUse } } };
}

function learnStart(
  { memory, session }: Knowledge,
  step: Extract<Step, { do: 'start' | 'restart' }>,
  actual: Actual,
  now: number,
): Knowledge {
  const { restarts = 0, state } = actual.containers.find(({ id }) => id === step.container) ?? {};
  const isRevived = state === 'exited' && session.sightings[step.container] !== undefined;
  const sightings = { ...session.sightings, [step.container]: { since: now, restarts, isRevived } };
  // A trouble with starting stays: it can be that of another container of the version, which has to wait.
  return { memory: withStarted(memory, step), session: { ...session, sightings } };
}

function withStarted(memory: Memory, { app, container }: { app: string; container: string }): Memory {
  const { stopped } = memory.apps[app] ?? NO_MEMORY;
  if (stopped?.includes(container) !== true) return memory;
  return withApp(memory, app, { stopped: stopped.filter((id) => id !== container) });
}

const LANES: Readonly<Record<Step['do'], Lane>> = {
  pull: 'pull',
  create: 'create',
  stop: 'change',
  rename: 'change',
  remove: 'change',
  start: 'start',
  restart: 'heal',
};

function learnFailure(
  known: Knowledge,
  result: Extract<StepResult, { ok: false }>,
  actual: Actual,
  moment: Moment,
): Knowledge {
  const { step, code, text } = result;
  const { memory } = known;
  const id = idOf(step);
  // A container that was good before and does not start is healed, with growing delays.
  const lane = step.do === 'start' && (memory.apps[step.app]?.good?.id ?? 0) === id ? 'heal' : LANES[step.do];
  const trouble = { id, code, text };
  // An attempt to heal was counted when it was planned.
  const session =
    lane === 'heal' && hasNoted(known.session, step, moment)
      ? known.session
      : withTroubles(known.session, step.app, (before) => afterFailure(before, lane, trouble, moment));
  if (result.isStuck === true && 'container' in step)
    return { memory, session: withStuck(session, step.container) };
  // How long it ran before no longer counts.
  if (lane === 'heal' && 'container' in step)
    return { memory, session: { ...session, sightings: without(session.sightings, step.container) } };
  if (lane !== 'start' || !canGoBack(memory, step.app, id, actual)) return { memory, session };
  const failed = { id, content: contentOf(step, actual), code, text, since: moment.wallTime, log: [] };
  return { memory: withApp(memory, step.app, { failed, retry: null }), session };
}

function contentOf(step: Step, { containers }: Actual): string {
  const started = 'container' in step ? step.container : '';
  return containers.find(({ id }) => id === started)?.content ?? '';
}

function withTroubles(session: Session, app: string, change: (before: Troubles) => Troubles): Session {
  return {
    ...session,
    troubles: { ...session.troubles, [app]: change(session.troubles[app] ?? {}) },
  };
}

/** Its version has not failed: what is known of how it ran is forgotten. */
function withStuck(session: Session, container: string): Session {
  const sightings = without(session.sightings, container);
  return { ...session, sightings, stuck: [...session.stuck, container] };
}

/** Whether something well waits to come back if a new version does not start. */
function canGoBack({ apps }: Memory, app: string, id: number, actual: Actual): boolean {
  const { good = null, wayBack } = apps[app] ?? {};
  return wayBack?.id === id && wayBack.isGood && isWayBackFree(app, good, actual);
}

/** Returns the id of the version that a step is for; 0 if it is for none. */
function idOf(step: Step): number {
  if (step.do === 'pull' || step.do === 'start') return step.id;
  return step.do === 'create' ? step.record.app_id : 0;
}

function hasNoted({ troubles }: Session, step: Step, { now }: Moment): boolean {
  const { id, nextTry = now } = troubles[step.app]?.heal ?? {};
  return nextTry > now && (step.do !== 'start' || step.id === id);
}
