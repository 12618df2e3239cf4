import { appDefaults } from '../../../src/protocol/app.ts';
import { restartPolicy } from '../../../src/protocol/fields/restart.ts';
import type { AppRecord } from '../../../src/protocol/info.ts';
import type { TroubleCode } from '../../../src/protocol/report.ts';
import { readLabels, roleOf } from '../../../src/worker/plan/labels.ts';
import { learn, type StepResult } from '../../../src/worker/plan/learn.ts';
import { emptyMemory, type Memory } from '../../../src/worker/plan/memory.ts';
import type {
  Actual,
  Container,
  Foreign,
  HostPort,
  Rules,
  Step,
  Wanted,
  WantedApp,
} from '../../../src/worker/plan/model.ts';
import { type Plan, plan } from '../../../src/worker/plan/plan.ts';
import { portsOf, sharedPort } from '../../../src/worker/plan/ports/ports.ts';
import { retry } from '../../../src/worker/plan/retry.ts';
import { NEW_SESSION, type Session } from '../../../src/worker/plan/session.ts';
import { contentOf } from '../../../src/worker/plan/wanted/content.ts';
import type { World } from '../../../src/worker/plan/world.ts';

/** Whether a step fails, and with what. */
type Fails = (step: Step) => boolean | TroubleCode;

/** How the containers of an image behave; its tag says so. */
type Behaviour = 'v1' | 'v2' | 'v3' | 'checked' | 'sick' | 'crash' | 'nostart' | 'job';

const RULES: Rules = {
  prefix: '',
  worker: 'main',
  healthWait: 120,
  settleTime: 10,
  stopTimeout: 10,
  rollback: true,
  updateSpread: 0,
};

/** Returns an app's record with defaults filled in. */
export function record(name: string, id: number, fields: Partial<AppRecord> = {}): AppRecord {
  return {
    app_name: name,
    container_image: 'web:v1',
    ...appDefaults(['nebula']),
    ...fields,
    app_id: id,
    _id: { $oid: '0'.repeat(24) },
  };
}

function wantedApp(app: AppRecord, count = app.containers_per.server ?? 1): WantedApp {
  return {
    name: app.app_name,
    id: app.app_id,
    record: app,
    content: contentOf(app),
    count,
    obstacle: null,
  };
}

export function wanted(apps: readonly AppRecord[], more: Partial<Wanted> = {}): Wanted {
  return { source: 'fleet', groupId: 1, pruneId: 1, apps: apps.map((app) => wantedApp(app)), ...more };
}

interface Simulated {
  container: Container;
  wantsPorts: readonly HostPort[];
  startedAt: number;
  restart?: string | undefined;
  /** Whether the engine keeps remains of a start of it, and starts it no more. */
  isStuck?: boolean;
}

const FAULTS: Readonly<Record<Step['do'], TroubleCode>> = {
  pull: 'pull-failed',
  create: 'create-failed',
  start: 'start-failed',
  restart: 'start-failed',
  stop: 'change-failed',
  rename: 'change-failed',
  remove: 'change-failed',
};

/** A container engine, a registry and a clock, by the rules of the real ones. */
export class Simulation {
  readonly machine = new Map<string, Simulated>();
  readonly images = new Map<string, string>();
  foreign: Foreign[] = [];
  networks = ['nebula', 'bridge'];
  registry: 'up' | 'down' = 'up';
  /** Raised when a tag is moved to another image. */
  build = 1;
  hasRoom = true;
  now = 1000;
  memory: Memory = emptyMemory();
  session: Session = NEW_SESSION;
  rules = RULES;
  wanted: Wanted | null = null;
  pulling = new Set<string>();
  /** Every step that was carried out, for tests of the order. */
  readonly log: string[] = [];
  starts = 0;
  #ids = 0;

  actual(): Actual {
    for (const simulated of this.machine.values()) this.#age(simulated, this.now - simulated.startedAt);
    return {
      containers: this.ours().map((container) => ({ ...container })),
      foreign: [...this.foreign, ...this.#renamed()],
      networks: this.networks,
      images: { ids: new Set(this.images.values()), byReference: this.images, digests: new Map() },
      blind: null,
      unclear: new Map(),
    };
  }

  /** The containers that have the name that the worker gave them. */
  ours(): Container[] {
    return this.#all().filter(isOurs);
  }

  #renamed(): Foreign[] {
    return this.#all().filter((container) => !isOurs(container));
  }

  #all(): Container[] {
    return [...this.machine.values()].map(({ container }) => container);
  }

  #age({ container, restart }: Simulated, age: number): void {
    if (container.state !== 'running') return;
    const behaviour = container.image.split(':')[1] as Behaviour;
    if (behaviour === 'crash' && age >= 1) crash(container, restart, 1 + Math.floor(age / 2));
    if (behaviour === 'job' && age >= 3)
      Object.assign(container, { state: 'exited', exitCode: 0, ports: [] });
    if (behaviour === 'sick') container.health = age >= 3 ? 'unhealthy' : 'starting';
    if (behaviour === 'checked') container.health = age >= 2 ? 'healthy' : 'starting';
  }

  world(): World {
    return {
      wanted: this.wanted,
      actual: this.actual(),
      memory: this.memory,
      session: this.session,
      rules: this.rules,
      disk: { hasRoomToSwap: this.hasRoom, lack: this.hasRoom ? null : 'the disk is full' },
      busy: new Set(),
      pulling: this.pulling,
      now: this.now,
      wallTime: this.now,
      random: 0.5,
    };
  }

  /** Looks and plans, and remembers what follows from the look. */
  look(): Plan {
    const made = plan(this.world());
    this.memory = made.memory;
    this.session = made.session;
    return made;
  }

  /** Somebody at the device asks for the version with an id to be tried again. */
  retry(app: string, id: number): void {
    Object.assign(this, retry({ memory: this.memory, session: this.session }, app, id));
  }

  /** Carries a step out, and learns from it. */
  run(step: Step, fails: Fails | null = null): StepResult {
    const actual = this.actual();
    const fault = fails?.(step) ?? false;
    const code = fault === true ? FAULTS[step.do] : fault;
    const result: StepResult =
      code === false ? this.carryOut(step) : { ok: false, step, code, text: 'injected' };
    const known = { memory: this.memory, session: this.session };
    const after = learn(known, result, actual, { now: this.now, wallTime: this.now, random: 0.5 });
    this.memory = after.memory;
    this.session = after.session;
    return result;
  }

  /** Looks and acts until there is nothing to do, or everything waits for time; at most `rounds` times. */
  settle(rounds = 60, fails: Fails | null = null): this {
    for (let round = 0; round < rounds; round++) {
      const { jobs, pulls } = this.look();
      const steps = [...jobs.flatMap((job) => job.steps), ...pulls];
      for (const step of steps) this.run(step, fails);
      this.now += steps.length === 0 ? 5 : 0.1;
    }
    return this;
  }

  /** What a step does to the machine, whether or not the worker lives to learn of it. */
  carryOut(step: Step): StepResult {
    this.log.push(describe(step));
    if (step.do === 'pull') return this.#pull(step);
    if (step.do === 'create') return this.#create(step);
    const found = this.machine.get(step.container);
    if (step.do === 'remove') {
      this.machine.delete(step.container);
      return { ok: true, step };
    }
    if (found === undefined) return { ok: false, step, code: 'start-failed', text: 'no such container' };
    if (step.do === 'rename') return this.#rename(step, found.container);
    if (step.do === 'stop') {
      Object.assign(found.container, { state: 'exited', health: 'none', exitCode: 0, ports: [] });
      return { ok: true, step };
    }
    return this.#start(step, found);
  }

  #pull(step: Extract<Step, { do: 'pull' }>): StepResult {
    if (this.registry === 'down') return { ok: false, step, code: 'pull-failed', text: 'registry down' };
    const imageId = `sha256:${step.image}@${this.build}`;
    this.images.set(step.image, imageId);
    return { ok: true, step, imageId };
  }

  #create(step: Extract<Step, { do: 'create' }>): StepResult {
    const { name, labels, imageId, record: app, slot } = step;
    if (this.#isTaken(name)) return { ok: false, step, code: 'name-taken', text: 'name taken' };
    if (![...this.images.values()].includes(imageId))
      return { ok: false, step, code: 'image-missing', text: 'no such image' };
    const labelled = readLabels(labels, 'main');
    if (labelled === null) throw new Error('the labels do not name this worker');
    const id = `c${++this.#ids}`;
    const image = imageId.replace(/^sha256:|@\d+$/g, '');
    const container: Container = {
      ...labelled,
      id,
      name,
      role: roleOf(name, '', labelled.app, labelled.slot) ?? 'current',
      image,
      imageId,
      state: 'created',
      health: 'none',
      restarts: 0,
      exitCode: null,
      healthLimit: image.endsWith('checked') || image.endsWith('sick') ? 9 : null,
      stopTimeout: app.stop_grace_period ?? null,
      restart: app.restart ?? 'unless-stopped',
      ports: [],
    };
    this.machine.set(id, { container, wantsPorts: portsOf(app, slot), startedAt: 0, restart: app.restart });
    return { ok: true, step };
  }

  #isTaken(name: string): boolean {
    const names = [...this.machine.values()].map(({ container }) => container.name);
    return [...names, ...this.foreign.map((other) => other.name)].includes(name);
  }

  #rename(step: Extract<Step, { do: 'rename' }>, container: Container): StepResult {
    if (this.#isTaken(step.to)) return { ok: false, step, code: 'name-taken', text: 'name taken' };
    const role = roleOf(step.to, '', container.app, container.slot);
    if (role === null) throw new Error(`${step.to} is no name of ${container.app}`);
    Object.assign(container, { name: step.to, role });
    return { ok: true, step };
  }

  /** Somebody starts a container, if it can be started. */
  startByHand(id: string): void {
    const simulated = this.machine.get(id);
    if (simulated === undefined) return;
    const { app, name } = simulated.container;
    this.#start({ do: 'start', app, id: 0, container: id, name }, simulated);
  }

  #start(step: Step, simulated: Simulated): StepResult {
    const { container, wantsPorts, isStuck } = simulated;
    if (isStuck === true)
      return { ok: false, step, code: 'engine-unavailable', text: 'already exists', isStuck };
    if (container.image.endsWith('nostart'))
      return { ok: false, step, code: 'start-failed', text: 'no entrypoint' };
    const taken = [
      ...this.foreign.flatMap(({ ports }) => ports),
      ...[...this.machine.values()].flatMap((other) => (other === simulated ? [] : other.container.ports)),
    ];
    if (sharedPort(wantsPorts, taken) !== null)
      return { ok: false, step, code: 'port-conflict', text: 'port taken' };
    this.starts += 1;
    simulated.startedAt = this.now;
    Object.assign(container, { state: 'running', health: 'none', ports: wantsPorts });
    this.#age(simulated, 0);
    return { ok: true, step };
  }

  /** The names of the running containers with their images, sorted. */
  running(): string[] {
    return [...this.machine.values()]
      .filter(({ container }) => container.state === 'running')
      .map(({ container }) => `${container.name} ${container.image}`)
      .sort();
  }

  names(): string[] {
    return [...this.machine.values()].map(({ container }) => container.name).sort();
  }
}

function isOurs({ name, app, slot }: Container): boolean {
  return roleOf(name, '', app, slot) !== null;
}

/** A container that ends again and again, as an engine treats it. */
function crash(container: Container, restart: string | undefined, times: number): void {
  const { when, most } = restartPolicy(restart);
  container.restarts = when === 'never' ? 0 : Math.min(most ?? times, times);
  if (when === 'never' || container.restarts === most)
    Object.assign(container, { state: 'exited', exitCode: 1, ports: [] });
}

function describe(step: Step): string {
  if (step.do === 'pull') return `pull ${step.image}`;
  return step.do === 'rename' ? `rename ${step.name} ${step.to}` : `${step.do} ${step.name}`;
}
