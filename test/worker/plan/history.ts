import fc from 'fast-check';
import { containerName } from '../../../src/worker/plan/labels.ts';
import { emptyMemory, type Memory } from '../../../src/worker/plan/memory.ts';
import { type Container, ROLES, type Step } from '../../../src/worker/plan/model.ts';
import { portsOf, sharedPort } from '../../../src/worker/plan/ports/ports.ts';
import { NEW_SESSION } from '../../../src/worker/plan/session.ts';
import { contentOf } from '../../../src/worker/plan/wanted/content.ts';
import { record, Simulation, wanted } from './simulation.ts';

export const GOOD = ['v1', 'v2', 'checked'] as const;
export const BAD = ['sick', 'crash', 'nostart'] as const;
const APPS = ['a', 'b', 'c'] as const;

export interface App {
  count: number;
  rolling: boolean;
  tag: string;
  port: number | null;
  running: boolean;
  memory: string | null;
  restart: string | null;
  pulls: 'always' | 'missing';
}

type Reply = Record<(typeof APPS)[number], App | null>;

/** What happens to a step: `lost` is done, but the worker dies before it knows. */
type Fate = 'done' | 'fails' | 'dies' | 'lost';

/** What somebody at the device does to a container; `stick` is what a crash of the engine can do to one. */
const DEEDS = ['stop', 'start', 'remove', 'rename', 'pause', 'stick'] as const;
type Deed = (typeof DEEDS)[number];

type Event =
  | { kind: 'reply'; reply: Reply }
  | { kind: 'restart'; app: number }
  | { kind: 'dies'; memory: 'kept' | 'lost' }
  | { kind: 'hand'; does: Deed; container: number }
  | { kind: 'world'; registry: 'up' | 'down'; hasRoom: boolean }
  | { kind: 'rounds'; rounds: number; fates: Fate[]; isReversed: boolean };

export interface Found {
  app: string;
  slot: number;
  role: (typeof ROLES)[number] | 'odd';
  appId: number;
  source: string;
  made: App;
  state: 'running' | 'exited' | 'created' | 'dead' | 'paused';
}

export interface History {
  found: Found[];
  foreign: { name: string; port: number | null }[];
  events: Event[];
}

const app = fc.record<App>({
  count: fc.integer({ min: 1, max: 3 }),
  rolling: fc.boolean(),
  tag: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...GOOD) }, fc.constantFrom(...BAD)),
  port: fc.option(fc.constantFrom(80, 81, 82)),
  running: fc.integer({ min: 0, max: 9 }).map((n) => n > 0),
  memory: fc.option(fc.constantFrom('64m', '128m'), { freq: 2 }),
  restart: fc.option(fc.constantFrom('on-failure', 'on-failure:2'), { freq: 2 }),
  pulls: fc.constantFrom('always', 'missing'),
});
const reply = fc.record<Reply>({ a: fc.option(app), b: fc.option(app), c: fc.option(app) });
const fate = fc.oneof(
  { weight: 8, arbitrary: fc.constant<Fate>('done') },
  fc.constantFrom<Fate>('fails', 'dies', 'lost'),
);
const rounds = fc.record({
  kind: fc.constant('rounds' as const),
  rounds: fc.integer({ min: 1, max: 20 }),
  fates: fc.array(fate, { minLength: 1, maxLength: 8 }),
  isReversed: fc.boolean(),
});
const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('reply' as const), reply }),
  { weight: 3, arbitrary: rounds },
  fc.record({ kind: fc.constant('restart' as const), app: fc.nat(2) }),
  fc.record({
    kind: fc.constant('dies' as const),
    memory: fc.constantFrom<('kept' | 'lost')[]>('kept', 'lost'),
  }),
  fc.record({
    kind: fc.constant('hand' as const),
    does: fc.constantFrom(...DEEDS),
    container: fc.nat(8),
  }),
  fc.record({
    kind: fc.constant('world' as const),
    registry: fc.constantFrom('up' as const, 'down' as const),
    hasRoom: fc.boolean(),
  }),
);
const found = fc.record<Found>({
  app: fc.constantFrom('a', 'b', 'c', 'd'),
  slot: fc.integer({ min: 1, max: 4 }),
  role: fc.constantFrom(...ROLES, 'current', 'current', 'odd'),
  appId: fc.integer({ min: 0, max: 3 }),
  source: fc.constantFrom('fleet', 'fleet', 'other', ''),
  made: app,
  state: fc.constantFrom('running', 'running', 'exited', 'created', 'dead', 'paused'),
});

export const histories = fc.record<History>({
  found: fc.array(found, { maxLength: 5 }),
  foreign: fc.array(
    fc.record({
      name: fc.constantFrom('db', 'a-1', 'b-2.next', 'c-1.old'),
      port: fc.option(fc.constantFrom(80, 82)),
    }),
    { maxLength: 2 },
  ),
  events: fc.array(event, { maxLength: 12 }),
});

/** A device with a history, whose worker is watched for steps that it must not take. */
export class Watched {
  readonly device = new Simulation();
  readonly problems: string[] = [];
  #saved: Memory = emptyMemory();
  #reply: Reply = { a: null, b: null, c: null };
  #ids: Record<string, number> = {};
  #lastId = 10;
  #failedAt = new Map<string, { at: number; machine: string }>();
  steps = 0;
  #quiet = 0;

  /** Puts containers on the machine that were there before, as far as names and ports are free. */
  furnish({ found, foreign }: Pick<History, 'found' | 'foreign'>): void {
    const { device } = this;
    for (const { name, port } of foreign) {
      const ports = port === null ? [] : [{ address: null, port, protocol: 'tcp' }];
      const taken = device.foreign.some((other) => other.name === name || sharedPort(other.ports, ports));
      if (!taken) device.foreign.push({ name, imageId: 'sha256:other', ports });
    }
    for (const [index, one] of found.entries()) this.#put(one, index);
  }

  #put({ app: name, slot, role, appId, source, made, state }: Found, index: number): void {
    const { device } = this;
    const its = recordOf(name, appId, made);
    const full =
      role === 'odd' ? `odd-${index}` : containerName('', name, slot, role as (typeof ROLES)[number]);
    if ([...device.names(), ...device.foreign.map((one) => one.name)].includes(full)) return;
    const image = its.container_image;
    const imageId = `sha256:${image}@1`;
    device.images.set(image, imageId);
    const wantsPorts = portsOf(its, slot);
    const held = [
      ...device.foreign.flatMap(({ ports }) => ports),
      ...[...device.machine.values()].flatMap(({ container }) => container.ports),
    ];
    const wasUp = state === 'running' || state === 'paused';
    const isUp = wasUp && role !== 'next' && made.tag !== 'nostart' && sharedPort(wantsPorts, held) === null;
    const container: Container = {
      id: `found-${index}`,
      name: full,
      app: name,
      slot,
      role: role === 'odd' ? 'current' : role,
      appId,
      content: source === '' ? '' : contentOf(its),
      source,
      count: made.count,
      image,
      imageId,
      state: wasUp && !isUp ? 'exited' : state,
      health: 'none',
      restarts: 0,
      exitCode: null,
      healthLimit: null,
      stopTimeout: null,
      restart: its.restart ?? 'unless-stopped',
      ports: isUp ? wantsPorts : [],
    };
    device.machine.set(container.id, { container, wantsPorts, startedAt: device.now });
  }

  happen(event: Event): void {
    const { device } = this;
    switch (event.kind) {
      case 'reply':
        this.reply(event.reply);
        break;
      case 'restart':
        this.#ids[APPS[event.app] ?? 'a'] = ++this.#lastId;
        this.#show();
        break;
      case 'dies':
        this.die(event.memory);
        break;
      case 'world':
        device.registry = event.registry;
        device.hasRoom = event.hasRoom;
        break;
      case 'hand':
        this.#hand(event.does, event.container);
        break;
      case 'rounds': {
        const fates = fatesFrom(event.fates);
        for (let round = 0; round < event.rounds; round++) this.round(fates, event.isReversed);
      }
    }
  }

  /** The manager's answer from now on: what changed gets a higher id. */
  reply(reply: Reply): void {
    for (const name of APPS)
      if (JSON.stringify(reply[name]) !== JSON.stringify(this.#reply[name])) this.#ids[name] = ++this.#lastId;
    this.#reply = reply;
    this.#show();
  }

  /** All apps get a higher id, so that nothing waits for one. */
  raise(change: (app: App) => App = (same) => same): void {
    for (const name of APPS) {
      const its = this.#reply[name];
      if (its === null) continue;
      this.#reply = { ...this.#reply, [name]: change(its) };
      this.#ids[name] = ++this.#lastId;
    }
    this.#show();
  }

  get wantedApps(): [string, App][] {
    return APPS.flatMap((name): [string, App][] => {
      const its = this.#reply[name];
      return its === null ? [] : [[name, its]];
    });
  }

  #show(): void {
    const apps = this.wantedApps.map(([name, its]) => recordOf(name, this.#ids[name] ?? 0, its));
    this.device.wanted = wanted(apps);
    this.#failedAt.clear();
  }

  /** Somebody at the device does something to a container. */
  #hand(does: Deed, index: number): void {
    const all = [...this.device.machine.values()];
    const simulated = all[index % Math.max(1, all.length)];
    if (simulated === undefined) return;
    const { container } = simulated;
    if (does === 'stick') simulated.isStuck = true;
    if (does === 'start') {
      this.device.startByHand(container.id);
      return;
    }
    const isUp = container.state === 'running' || container.state === 'paused';
    if (does === 'remove') this.device.machine.delete(container.id);
    else if (does === 'rename') Object.assign(container, { name: `hand-${container.id}` });
    else if (isUp && does === 'pause') Object.assign(container, { state: 'paused', health: 'none' });
    else if (isUp) Object.assign(container, { state: 'exited', exitCode: 137, health: 'none', ports: [] });
  }

  /** The worker is killed and starts again. Without a memory it knows nothing of the manager at its first look. */
  die(memory: 'kept' | 'lost'): void {
    const { device } = this;
    device.session = NEW_SESSION;
    this.#failedAt.clear();
    device.memory = memory === 'kept' ? this.#saved : emptyMemory();
    if (memory === 'kept') return;
    this.#saved = device.memory;
    const { wanted: known } = device;
    device.wanted = null;
    this.round(fatesFrom(['done']), false);
    device.wanted = known;
    this.#failedAt.clear();
  }

  /** One look and its steps. Returns them. */
  round(fates: Iterator<Fate>, isReversed: boolean): Step[] {
    const { device } = this;
    const made = device.look();
    this.#saved = device.memory;
    const planned = [...made.jobs.flatMap((job) => job.steps), ...made.pulls];
    for (const step of planned) this.#check(step, planned);
    const steps = isReversed ? planned.toReversed() : planned;
    for (const step of steps) if (!this.#carryOut(step, fates.next().value as Fate)) break;
    this.#pass(steps.length > 0);
    return planned;
  }

  /** Carries a step out. Returns whether the worker lives on. */
  #carryOut(step: Step, fate: Fate): boolean {
    const { device } = this;
    if (fate === 'dies' || fate === 'lost') {
      if (fate === 'lost') device.carryOut(step);
      this.die('kept');
      return false;
    }
    this.steps += 1;
    const result = device.run(step, fate === 'fails' ? () => true : null);
    this.#saved = device.memory;
    if (result.ok) this.#failedAt.delete(keyOf(step));
    else this.#failedAt.set(keyOf(step), { at: device.now, machine: this.#machine() });
    return true;
  }

  /** Time goes by, faster where nothing happens. */
  #pass(isActive: boolean): void {
    this.#quiet = isActive ? 0 : this.#quiet + 1;
    const idle = this.#quiet > 12 ? 25 : 5;
    this.device.now += isActive ? 0.1 : idle;
  }

  /** Lets the worker work without faults. Returns the steps of the last ten minutes, if all are waits by then. */
  converge(): Step[] {
    const { device } = this;
    device.registry = 'up';
    device.hasRoom = true;
    const limit = this.steps + 600;
    const end = device.now + 4000;
    let recent: { at: number; step: Step }[] = [];
    while (device.now < end) {
      for (const step of this.round(fatesFrom(['done']), false)) recent.push({ at: device.now, step });
      if (this.steps > limit) {
        this.problems.push(`600 steps and no end: ${device.log.slice(-12).join(', ')}`);
        break;
      }
    }
    recent = recent.filter(({ at }) => at > end - 900);
    return recent.map(({ step }) => step);
  }

  #check(step: Step, planned: readonly Step[]): void {
    this.#checkRepetition(step);
    this.#checkName(step, planned);
    if (step.do === 'stop' || step.do === 'restart' || step.do === 'remove') this.#checkStop(step);
    if ('container' in step && !this.device.ours().some(({ id }) => id === step.container))
      this.problems.push(`${keyOf(step)} is for a container that is not ours`);
  }

  #checkRepetition(step: Step): void {
    const before = this.#failedAt.get(keyOf(step));
    if (before === undefined || before.machine !== this.#machine()) return;
    const pause = this.device.now - before.at;
    if (pause < 8) this.problems.push(`${keyOf(step)} is repeated after ${pause.toFixed(1)} s`);
  }

  #checkName(step: Step, planned: readonly Step[]): void {
    const name = step.do === 'create' ? step.name : step.do === 'rename' ? step.to : null;
    if (name === null) return;
    if (this.device.names().includes(name)) this.problems.push(`${keyOf(step)}: the name is taken`);
    const others = planned.filter(
      (one) =>
        one !== step &&
        ((one.do === 'create' && one.name === name) || (one.do === 'rename' && one.to === name)),
    );
    if (others.length > 0) this.problems.push(`${keyOf(step)}: two get the name`);
  }

  #checkStop(step: Extract<Step, { do: 'stop' | 'restart' | 'remove' }>): void {
    const { device } = this;
    const target = device.machine.get(step.container)?.container;
    if (target === undefined) return;
    if (step.do === 'remove' && target.state === 'running') this.problems.push(`${keyOf(step)} runs`);
    if (!isServing(target) || this.#mayLeave(target)) return;
    this.problems.push(`${keyOf(step)} stops a good container without a successor`);
  }

  /** Whether a container is not wanted any more, or has a successor. */
  #mayLeave(container: Container): boolean {
    const { wanted: reply } = this.device;
    if (reply === null) return false;
    const app = reply.apps.find(({ name }) => name === container.app);
    if (app?.record?.running !== true || container.slot > app.count) return true;
    return this.#isReplaceable(container, app.id);
  }

  #isReplaceable({ app, slot, appId }: Container, id: number): boolean {
    const { device } = this;
    const siblings = [...device.machine.values()].map(({ container }) => container);
    const others = siblings.filter((one) => one.app === app && one.slot === slot);
    const ids = [...device.images.values()];
    const isStaged = others.some(
      (one) =>
        one.role === 'next' && one.state === 'created' && one.appId === id && ids.includes(one.imageId),
    );
    const failed = device.memory.apps[app]?.failed;
    return isStaged || failed?.id === appId;
  }

  #machine(): string {
    return [...this.device.machine.values()]
      .map(({ container: { id, name, state } }) => `${id} ${name} ${state}`)
      .join();
  }
}

/** Whether a container is in its place, and does what it should. */
function isServing({ state, role, image, health }: Container): boolean {
  const isBad = BAD.some((tag) => image.endsWith(tag)) || health === 'unhealthy';
  return state === 'running' && role === 'current' && !isBad;
}

export function recordOf(name: string, id: number, app: App) {
  const { count, rolling, tag, port, running, memory, restart, pulls } = app;
  return record(name, id, {
    container_image: `web:${tag}`,
    containers_per: { server: count },
    rolling_restart: rolling,
    starting_ports: port === null ? [] : [port],
    running,
    ...(memory === null ? {} : { memory }),
    ...(restart === null ? {} : { restart }),
    ...(pulls === 'always' ? {} : { pull_policy: pulls }),
  });
}

function* fatesFrom(fates: readonly Fate[]): Generator<Fate> {
  for (;;) yield* fates;
}

function keyOf(step: Step): string {
  if (step.do === 'pull') return `pull ${step.app} ${step.image}`;
  return step.do === 'rename' ? `rename ${step.name} ${step.to}` : `${step.do} ${step.name}`;
}
