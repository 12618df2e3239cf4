import { Draft, type World } from './draft.ts';
import type { Memory } from './memory.ts';
import type { Actual, Container, Step } from './model.ts';
import { groupByPorts, type Judged, settlePorts } from './ports/conflicts.ts';
import { type AppTrouble, FORGIVEN_AFTER, type Lane, type Phase, type Session } from './session.ts';
import { lookAt } from './update/gate.ts';
import { planGroup } from './update/group.ts';
import { isUp, viewOf } from './view.ts';
import { adopt } from './wanted/adopt.ts';
import { judge } from './wanted/judge.ts';

/** Steps that may run side by side, and the apps that nothing else is done to meanwhile. */
export interface Job {
  apps: readonly string[];
  steps: readonly Step[];
}

/** What to do now, and what the worker knows after this look. */
export interface Plan {
  jobs: readonly Job[];
  /** One at a time; each is a job of its own. */
  pulls: readonly Extract<Step, { do: 'pull' }>[];
  memory: Memory;
  session: Session;
  /** Containers whose last lines say why a version failed. */
  failures: readonly { app: string; container: string }[];
}

/**
 * Plans the next steps from what is wanted, what is there and what is remembered: nothing depends on having seen an event,
 * and each step can be repeated. Made again after each step until nothing is left to do.
 */
export function plan(world: World): Plan {
  const { draft, judged } = judgedIn(world);
  const jobs = groupByPorts(judged).flatMap((group) => planJob(group, draft));
  const result = draft.result();
  const phases = phasesAfter(draft, judged);
  return {
    jobs,
    pulls: draft.steps.filter((step) => step.do === 'pull'),
    memory: result.memory,
    session: { ...result.session, phases },
    failures: draft.failures,
  };
}

/** Returns what is to become of each app, in the same way as a plan does. */
export function aimsIn(world: World): Judged[] {
  return judgedIn(world).judged;
}

function judgedIn(world: World): { draft: Draft; judged: Judged[] } {
  const { containers } = world.actual;
  const sightings = lookAt(containers, world.session, world.now);
  const stuck = world.session.stuck.filter((id) => containers.some((container) => container.id === id));
  const session = { ...world.session, sightings, stuck, troubles: currentTroubles(world) };
  const actual = withDead(world.actual, stuck);
  const memory = world.wanted === null ? world.memory : adopt(world.memory, world.wanted, actual);
  const draft = new Draft({ ...world, actual, memory, session });
  return { draft, judged: settlePorts(judgeAll(draft), actual) };
}

/** A container that cannot be started any more is as good as dead. */
function withDead(actual: Actual, stuck: readonly string[]): Actual {
  if (stuck.length === 0) return actual;
  const containers = actual.containers.map((container): Container => {
    const isDead = stuck.includes(container.id) && !isUp(container);
    return isDead ? { ...container, state: 'dead' } : container;
  });
  return { ...actual, containers };
}

function judgeAll(draft: Draft): Judged[] {
  const { wanted, actual, memory, session, now } = draft.world;
  const listed = wanted?.apps ?? [];
  const names = new Set([
    ...listed.map(({ name }) => name),
    ...actual.containers.map(({ app }) => app),
    ...Object.keys(memory.apps),
  ]);
  return [...names].map((name) => {
    const app = listed.find((candidate) => candidate.name === name) ?? null;
    const view = viewOf(name, app, memory.apps[name], actual);
    return { view, aim: judge(view, wanted, session, now) };
  });
}

function planJob(group: readonly Judged[], draft: Draft): Job[] {
  const before = draft.steps.length;
  planGroup(group, draft);
  const steps = draft.steps.slice(before).filter((step) => step.do !== 'pull' && !hasToWait(step, draft));
  const byContainer = new Map(
    steps.map((step) => [step.do === 'create' ? step.name : containerOf(step), step]),
  );
  const apps = group.map(({ view }) => view.name);
  return steps.length === 0 ? [] : [{ apps, steps: [...byContainer.values()] }];
}

/** Whether a change of names and states has failed of late. Then the app says so, and waits. */
function hasToWait({ do: kind, app }: Step, draft: Draft): boolean {
  const trouble =
    kind === 'stop' || kind === 'rename' || kind === 'remove' ? draft.trouble(app, 'change') : null;
  if (trouble == null || trouble.nextTry <= draft.world.now) return false;
  const { code, text } = trouble;
  draft.setPhase(app, draft.phases.get(app)?.state ?? 'updating', { code, text });
  return true;
}

function containerOf(step: Step): string {
  return 'container' in step ? step.container : step.app;
}

/** Drops what failed for another id than the one that matters now. */
function currentTroubles({ wanted, session, memory, now }: World): Session['troubles'] {
  return Object.fromEntries(
    Object.entries(session.troubles).map(([app, lanes]) => {
      const id = wanted?.apps.find(({ name }) => name === app)?.id;
      const ids = new Set([id, memory.apps[app]?.good?.id, 0]);
      const kept = Object.entries(lanes).filter(([lane, trouble]) =>
        lane === 'change'
          ? trouble.nextTry + FORGIVEN_AFTER > now
          : isCurrent(lane as Lane, trouble, id, ids),
      );
      return [app, Object.fromEntries(kept)];
    }),
  );
}

function isCurrent(
  lane: Lane,
  trouble: AppTrouble | undefined,
  id: number | undefined,
  ids: ReadonlySet<number | undefined>,
): boolean {
  if (trouble === undefined) return false;
  return id === undefined || (lane === 'pull' || lane === 'start' ? trouble.id === id : ids.has(trouble.id));
}

/** What each app is doing; one that is busy keeps what was said of it last. */
function phasesAfter(draft: Draft, judged: readonly Judged[]): Record<string, Phase> {
  const phases: Record<string, Phase> = {};
  for (const { view } of judged) {
    const phase = draft.phases.get(view.name) ?? draft.world.session.phases[view.name];
    if (phase !== undefined && (view.wanted !== null || view.containers.length > 0))
      phases[view.name] = phase;
  }
  return phases;
}
