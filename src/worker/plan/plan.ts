import type { Memory } from './memory.ts';
import type { Actual, Container, Step } from './model.ts';
import { heldBack, knownAfter, type Next } from './next.ts';
import { groupByPorts, type Judged, settlePorts } from './ports/conflicts.ts';
import { type AppTrouble, FORGIVEN_AFTER, type Phase, type Session } from './session.ts';
import { lookAt } from './update/gate.ts';
import { nextOfGroup } from './update/group.ts';
import { isUp, viewOf } from './view.ts';
import { adopt } from './wanted/adopt.ts';
import { judge } from './wanted/judge.ts';
import type { World } from './world.ts';

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
export function plan(before: World): Plan {
  const world = asOfNow(before);
  const judged = judgeAll(world);
  const groups = groupByPorts(judged);
  const planned = groups.flatMap((group) => nextOfGroup(group, world));
  const { memory, session } = knownAfter(planned, world);
  const nexts = planned.map((next) => heldBack(next, world.now));
  return {
    jobs: groups.flatMap((group) => jobOf(group, nexts)),
    pulls: nexts.flatMap(({ steps }) => steps).filter((step) => step.do === 'pull'),
    memory,
    session: { ...session, phases: phasesAfter(world, judged, nexts) },
    failures: nexts.flatMap(({ view: { name: app }, failure: container }) =>
      container === undefined ? [] : [{ app, container }],
    ),
  };
}

/** Returns what is to become of each app, in the same way as a plan does. */
export function aimsIn(world: World): Judged[] {
  return judgeAll(asOfNow(world));
}

/** Takes up what the look showed: what is known of what is gone, or was about another id, does not count any more. */
function asOfNow(world: World): World {
  const { containers } = world.actual;
  const sightings = lookAt(containers, world.session, world.now);
  const stuck = world.session.stuck.filter((id) => containers.some((container) => container.id === id));
  const session = { ...world.session, sightings, stuck, troubles: currentTroubles(world) };
  const actual = withDead(world.actual, stuck);
  const memory = world.wanted === null ? world.memory : adopt(world.memory, world.wanted, actual);
  return { ...world, actual, memory, session };
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

function judgeAll(world: World): Judged[] {
  const { wanted, actual, memory, now } = world;
  const listed = wanted?.apps ?? [];
  const names = new Set([
    ...listed.map(({ name }) => name),
    ...actual.containers.map(({ app }) => app),
    ...Object.keys(memory.apps),
  ]);
  const judged = [...names].map((name) => {
    const app = listed.find((candidate) => candidate.name === name) ?? null;
    const view = viewOf(name, app, world);
    return { view, aim: judge(view, wanted, now) };
  });
  return settlePorts(judged, actual);
}

/** One container gets one step, the last that was planned. */
function jobOf(group: readonly Judged[], nexts: readonly Next[]): Job[] {
  const apps = group.map(({ view }) => view.name);
  const all = nexts.flatMap(({ view, steps }) => (apps.includes(view.name) ? steps : []));
  const steps = all.filter((step) => step.do !== 'pull');
  const byContainer = new Map(steps.map((step) => [step.do === 'create' ? step.name : step.container, step]));
  return steps.length === 0 ? [] : [{ apps, steps: [...byContainer.values()] }];
}

/** Drops what failed for another id than the one that matters now. */
function currentTroubles({ wanted, session, memory, now }: World): Session['troubles'] {
  return Object.fromEntries(
    Object.entries(session.troubles).map(([app, troubles]) => {
      const id = wanted?.apps.find(({ name }) => name === app)?.id;
      const ids = [id, memory.apps[app]?.good?.id, 0];
      const isPast = (lane: string, trouble: AppTrouble): boolean => {
        if (lane === 'change') return trouble.nextTry + FORGIVEN_AFTER <= now;
        const isOfVersion = lane === 'pull' || lane === 'start';
        return id !== undefined && (isOfVersion ? trouble.id !== id : !ids.includes(trouble.id));
      };
      const kept = Object.entries(troubles).filter(([lane, trouble]) => !isPast(lane, trouble));
      return [app, Object.fromEntries(kept)];
    }),
  );
}

/** What each app is doing; one that is busy keeps what was said of it last. */
function phasesAfter(
  { session: { phases: before }, wallTime }: World,
  judged: readonly Judged[],
  nexts: readonly Next[],
): Session['phases'] {
  const said = new Map(nexts.map(({ view, says }) => [view.name, says]));
  const shown = judged.filter(({ view }) => view.wanted !== null || view.containers.length > 0);
  return Object.fromEntries(
    shown.flatMap(({ view: { name } }) => {
      const phase = phaseOf(said.get(name), before[name], wallTime);
      return phase === undefined ? [] : [[name, phase]];
    }),
  );
}

function phaseOf(says: Next['says'], before: Phase | undefined, wallTime: number): Phase | undefined {
  if (says === undefined) return before;
  const isSame = before !== undefined && before.obstacle?.code === says.obstacle?.code;
  return { ...says, since: isSame ? before.since : wallTime };
}
