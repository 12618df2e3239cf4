import type { AppRecord } from '../../protocol/info.ts';
import type { ReportedApp, Trouble } from '../../protocol/report.ts';
import { hasEndedWell } from '../plan/heal/endings.ts';
import type { Memory } from '../plan/memory.ts';
import type { Actual, Container, Wanted, WantedApp } from '../plan/model.ts';
import type { Phase, Session } from '../plan/session.ts';
import type { StatusContainer } from './status.ts';

/** What the status of apps is made from. */
export interface AppsInput {
  wanted: Wanted | null;
  actual: Actual | null;
  memory: Memory;
  session: Session;
  /** What the failed container of an app wrote last. */
  linesOf(app: string): readonly string[];
  /** Seconds of the monotonic clock, and since the Unix epoch. */
  now: number;
  wallTime: number;
}

/** Returns what each app is doing: those of the group in its order, then those that are kept although they left. */
export function reportedApps(input: AppsInput): ReportedApp[] {
  const { wanted, session, actual } = input;
  const listed = wanted?.apps ?? [];
  const others = Object.keys(session.phases).filter((name) => !listed.some((app) => app.name === name));
  return [...listed, ...others.map((name) => ({ name }))].map((app) => {
    const containers = actual?.containers.filter((container) => container.app === app.name) ?? [];
    const phase = session.phases[app.name];
    return reportedApp(app, containers, phase, input);
  });
}

function reportedApp(
  app: WantedApp | { name: string },
  containers: readonly Container[],
  phase: Phase | undefined,
  input: AppsInput,
): ReportedApp {
  const record = recordOf(app, input);
  const ended = { record, stopped: input.memory.apps[app.name]?.stopped ?? [] };
  const currents = containers.filter(({ role }) => role === 'current');
  const running = currents.filter((one) => one.state === 'running' || hasEndedWell(one, ended));
  const goodId = input.memory.apps[app.name]?.good?.id ?? null;
  const first = running[0];
  return {
    name: app.name,
    wanted_id: 'id' in app ? app.id : 0,
    running_id: first === undefined ? null : runningId(first, goodId, input.wanted),
    state: phase?.state ?? 'waiting',
    wanted: 'count' in app ? app.count : 0,
    running: running.length,
    image: first === undefined ? null : imageOf(app.name, first, input.memory),
    digest: (first && input.actual?.images.digests.get(first.imageId)) ?? null,
    error: errorOf(app.name, phase, input) ?? warningOf(app.name, input),
  };
}

function recordOf(app: WantedApp | { name: string }, { memory }: AppsInput): AppRecord | null {
  return ('record' in app ? app.record : null) ?? memory.apps[app.name]?.good?.record ?? null;
}

/** Containers keep the id that they were made for; what counts is the id whose work is done with them. */
function runningId({ appId, source }: Container, goodId: number | null, wanted: Wanted | null): number {
  return source !== wanted?.source || (goodId !== null && goodId > appId) ? (goodId ?? appId) : appId;
}

/** A container that was recreated from an image's id is shown with the reference of its app. */
function imageOf(app: string, { image, imageId }: Container, memory: Memory): string {
  const good = memory.apps[app]?.good;
  return good?.imageId === imageId ? (good.record?.container_image ?? image) : image;
}

function errorOf(app: string, phase: Phase | undefined, input: AppsInput): Trouble | null {
  const { session, memory, now, wallTime } = input;
  if (phase?.obstacle == null) return null;
  const { code, text } = phase.obstacle;
  // What was taken back is not tried again by itself.
  const troubles = phase.state === 'rolled_back' ? {} : (session.troubles[app] ?? {});
  const trouble = Object.values(troubles).find((one) => one.code === code);
  const lines = phase.state === 'rolled_back' ? memory.apps[app]?.failed?.log : input.linesOf(app);
  return {
    code,
    text,
    since: trouble?.since ?? phase.since,
    attempts: trouble?.attempts ?? 0,
    next_try: trouble === undefined ? null : Math.round(wallTime + Math.max(0, trouble.nextTry - now)),
    ...(lines === undefined || (lines.length === 0 && phase.state !== 'rolled_back')
      ? {}
      : { log: [...lines] }),
  };
}

/** Returns what is worth knowing of an app without trouble. */
function warningOf(app: string, { session, memory }: AppsInput): Trouble | null {
  const stale = session.stale[app];
  if (session.phases[app]?.obstacle != null) return null;
  if (stale === undefined || stale.id !== memory.apps[app]?.good?.id) return null;
  const text = `the image could not be pulled, so the one that was there is used: ${stale.text}`;
  return { code: 'stale-image', text, since: stale.since, attempts: 0, next_try: null };
}

/** Returns the containers of this worker, for people and reports. */
export function statusContainers(actual: Actual | null, memory: Memory): StatusContainer[] {
  return (actual?.containers ?? []).map((container) => {
    const { id, name, app, slot, state, health: seen, restarts } = container;
    const health = seen === 'none' ? null : seen;
    return { id, name, app, slot, image: imageOf(app, container, memory), state, health, restarts };
  });
}

/** States in which nothing is left to do for an app, and it is as wanted. */
const DONE = new Set(['running', 'stopped']);
/** Troubles with which an app is as wanted all the same. */
const WARNINGS = new Set(['change-failed', 'stale-image']);

/** Whether the work of the last reply is done: everything runs as it asks, nothing is kept back, and it is pruned. */
export function isDone({ wanted, memory, session }: AppsInput): boolean {
  if (wanted === null || memory.pruneId === null || memory.pruneId < wanted.pruneId) return false;
  if (Object.keys(session.phases).some((name) => !wanted.apps.some((app) => app.name === name))) return false;
  return wanted.apps.every(({ name, id, content }) => {
    const phase = session.phases[name];
    const isHeld = phase?.obstacle != null && !WARNINGS.has(phase.obstacle.code);
    const good = memory.apps[name]?.good;
    // A reply can have come since the last look, of which the phases are.
    const isHad = good?.id === id && good.content === content;
    return phase !== undefined && DONE.has(phase.state) && !isHeld && isHad;
  });
}
