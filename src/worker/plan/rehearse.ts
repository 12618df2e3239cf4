import type { World } from './draft.ts';
import { containerName, readLabels, roleOf } from './labels.ts';
import { learn } from './learn.ts';
import type { Actual, Container, Step } from './model.ts';
import { plan } from './plan.ts';
import { portsOf } from './ports.ts';

/** More steps than any device needs: a plan that goes on is cut off here. */
const MOST_STEPS = 1000;
/** Seconds between two looks; enough for a container to pass its gate. */
const PAUSE = 600;

/** Returns all that a device would do if every step went well, in order. */
export function rehearse(world: World): Step[] {
  const done: Step[] = [];
  const stage = new Map<string, Container>(
    world.actual.containers.map((container) => [container.id, container]),
  );
  const images = new Map(world.actual.images.byReference);
  const ids = new Set(world.actual.images.ids);
  let { memory, session, now } = world;
  for (let quiet = 0; quiet < 2 && done.length < MOST_STEPS; ) {
    const actual: Actual = {
      ...world.actual,
      containers: [...stage.values()],
      images: { ...world.actual.images, ids, byReference: images },
    };
    const made = plan({ ...world, actual, memory, session, now, busy: new Set(), pulling: new Set() });
    const steps = [...made.jobs.flatMap((job) => job.steps), ...made.pulls];
    let known = { memory: made.memory, session: made.session };
    for (const step of steps) {
      const imageId = perform(step, stage, images, ids, world);
      const moment = { now, wallTime: world.wallTime, random: 0 };
      known = learn(
        known,
        imageId === null ? { ok: true, step } : { ok: true, step, imageId },
        actual,
        moment,
      );
    }
    ({ memory, session } = known);
    done.push(...steps);
    quiet = steps.length === 0 ? quiet + 1 : 0;
    now += PAUSE;
  }
  return done;
}

/** Changes the stage as a step would change the machine. Returns the id of the image that a pull brings. */
function perform(
  step: Step,
  stage: Map<string, Container>,
  images: Map<string, string>,
  ids: Set<string>,
  { rules }: World,
): string | null {
  if (step.do === 'pull') {
    const id = `pulled:${step.image}`;
    images.set(step.image, id);
    ids.add(id);
    return id;
  }
  if (step.do === 'create') {
    const container = created(step, rules.worker);
    if (container !== null) stage.set(container.id, container);
    return null;
  }
  const container = stage.get(step.container);
  if (container === undefined) return null;
  if (step.do === 'remove') stage.delete(step.container);
  else stage.set(step.container, { ...container, ...changeBy(step, container) });
  return null;
}

function created(step: Extract<Step, { do: 'create' }>, worker: string): Container | null {
  const labelled = readLabels(step.labels, worker);
  if (labelled === null) return null;
  const { name, record, imageId, slot } = step;
  const image = record.container_image;
  const figures = { restarts: 0, exitCode: null, healthLimit: null, stopTimeout: null, restart: null };
  // Its ports are kept here until it starts: only what runs holds ports.
  const ports = portsOf(record, slot);
  const id = `created:${name}:${labelled.appId}`;
  return {
    ...labelled,
    ...figures,
    id,
    name,
    role: 'next',
    isStray: false,
    image,
    imageId,
    state: 'created',
    health: 'none',
    ports,
  };
}

function changeBy(
  step: Exclude<Step, { do: 'pull' | 'create' | 'remove' }>,
  { app, slot }: Container,
): Partial<Container> {
  if (step.do === 'stop') return { state: 'exited', health: 'none', ports: [] };
  if (step.do !== 'rename') return { state: 'running', health: 'none' };
  const role = roleOf(step.to);
  return { name: step.to, role, isStray: !step.to.endsWith(containerName('', app, slot, role)) };
}
