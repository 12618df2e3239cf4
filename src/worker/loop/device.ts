import { createSingleFlight } from '../../async/single-flight.ts';
import { messageOf } from '../../errors.ts';
import { NAME_PATTERN } from '../../protocol/name.ts';
import { EngineError, type EngineInfo } from '../engine/engine.ts';
import type { InfoBody } from '../link/info-reply.ts';
import type { Counts } from '../metrics/exposition.ts';
import type { Parts } from '../parts.ts';
import { forgetImages } from '../plan/images.ts';
import type { Knowledge } from '../plan/learn.ts';
import type { Memory } from '../plan/memory.ts';
import type { Actual, Disk, Wanted } from '../plan/model.ts';
import { aimsIn, type Plan, plan } from '../plan/plan.ts';
import type { Judged } from '../plan/ports/conflicts.ts';
import { retry } from '../plan/retry.ts';
import { NEW_SESSION, type Session, shortOfRoom, withPullsNow } from '../plan/session.ts';
import { readWanted } from '../plan/wanted/wanted.ts';
import type { World } from '../plan/world.ts';
import { ImageCare } from './image-care.ts';
import { LastLines, LOG_LINES } from './last-lines.ts';
import { ensureNetwork } from './network.ts';
import { type Inspected, observe } from './observe.ts';
import type { Problems } from './problems.ts';
import { noteForeign, noteUnclear } from './remarks.ts';
import { deviceName, policyOf, prefixOf, rulesOf } from './rules.ts';
import { Runner, type UnderWay } from './runner.ts';
import { secondsOf, wallTimeOf } from './time.ts';

/** States of an app that is on its way. */
const CHANGING: ReadonlySet<string> = new Set(['pulling', 'updating', 'checking']);

/** The containers of this device: looks at them, plans, acts, and remembers. */
export class Device {
  readonly #parts: Parts;
  readonly #problems: Problems;
  readonly #onChange: () => void;
  readonly #flight = createSingleFlight(() => this.#look());
  readonly #inspected: Inspected = new Map();
  readonly #known: Knowledge;
  readonly #images: ImageCare;
  readonly #runner: Runner;
  #reply: InfoBody | null = null;
  #isStopped = false;
  readonly lastLines: LastLines;
  /** What the engine said last; null while it is away. */
  info: EngineInfo | null = null;
  /** The same, kept while it is away: the machine has not changed. */
  #machine: EngineInfo | null = null;
  actual: Actual | null = null;
  /** When `actual` was seen, in seconds since the Unix epoch. */
  lookedAt: number | null = null;
  /** When the next look is due, in seconds of the monotonic clock. */
  nextLookAt = 0;

  /** `onChange` is called when something may have changed that people or reports show. */
  constructor(parts: Parts, problems: Problems, memory: Memory, onChange: () => void) {
    this.#parts = parts;
    this.#problems = problems;
    this.#known = { memory, session: NEW_SESSION };
    this.#onChange = onChange;
    this.lastLines = new LastLines(parts.engine);
    this.#images = new ImageCare(parts, problems, {
      get: () => this.memory,
      set: (change) => this.remember(change),
    });
    this.#runner = new Runner(parts, this.#known, {
      actual: () => this.actual,
      onLearned: () => this.save(),
      onEnd: () => void this.look(),
    });
  }

  get memory(): Memory {
    return this.#known.memory;
  }

  get session(): Session {
    return this.#known.session;
  }

  get counts(): Counts {
    return this.#runner.counts;
  }

  /** What the manager asks of this device; null before it is known, or while it is not known what the machine has. */
  get wanted(): Wanted | null {
    const { config } = this.#parts;
    const source = this.memory.reply?.source;
    if (this.#reply === null || this.#machine === null || source === undefined) return null;
    return readWanted(this.#reply, source, this.#machine, policyOf(config));
  }

  /** Whether nothing is under way: no step, no pull, no prune. */
  get isIdle(): boolean {
    return this.#runner.isIdle;
  }

  /** Whether another worker holds the name of this one, which then acts on nothing. */
  get isRivalled(): boolean {
    return this.memory.rival !== undefined;
  }

  /** Notes which worker holds the name; undefined if this one does. Resolves once that is kept over a restart. */
  async setRival(rival: string | undefined): Promise<void> {
    if (this.memory.rival === rival) return;
    this.remember({ rival });
    if (rival !== undefined) this.#runner.cancelPulls();
    await this.save();
  }

  /** The apps that the manager asked for last, by name. */
  get listed(): readonly string[] {
    return this.#reply?.apps.map(({ name }) => name) ?? [];
  }

  /** Takes what the manager asks for, with what is to be remembered of it. */
  accept(reply: InfoBody, remembered: Partial<Memory>): void {
    this.#reply = reply;
    this.remember(remembered);
  }

  remember(change: Partial<Memory>): void {
    this.#known.memory = { ...this.#known.memory, ...change };
  }

  /** Lets a version be tried again that was taken back, or that waits. Returns whether the device has such an app. */
  retry(app: string): boolean {
    const id = this.wanted?.apps.find(({ name }) => name === app)?.id;
    if (id === undefined) return false;
    Object.assign(this.#known, retry(this.#known, app, id));
    void this.save();
    void this.look();
    return true;
  }

  /**
   * Forgets the ids of the manager, which was set up again: content decides about its next reply, whatever its ids are.
   * That is asked for in full.
   */
  async forgetIds(): Promise<void> {
    const { epoch, reply } = this.memory;
    const asked = reply === null ? null : { ...reply, etag: '' };
    this.remember({ epoch: epoch + 1, groupId: null, done: null, reply: asked });
    await this.save();
  }

  /** Seconds until the next look: few while a new version is being judged or a try is due, not while something waits. */
  #pause(): number {
    const interval = this.#parts.config.ORCHESTRATOR_MANAGER_CHECK_IN_TIME;
    const now = secondsOf(this.#parts);
    const phases = Object.values(this.session.phases);
    const isJudging = phases.some(
      ({ state, obstacle }) => state === 'checking' || (state === 'updating' && obstacle === null),
    );
    const tries = Object.values(this.session.troubles).flatMap((lanes) => Object.values(lanes));
    const waits = Object.values(this.session.waits).map(({ until }) => until);
    const next = [...tries.map(({ nextTry }) => nextTry), ...waits].filter((time) => time > now);
    return Math.max(0.1, Math.min(interval, isJudging ? 1 : interval, ...next.map((time) => time - now)));
  }

  /** Whether an app is on its way to what is wanted. */
  isChanging(): boolean {
    return Object.values(this.session.phases).some(({ state }) => CHANGING.has(state));
  }

  /** Resolves to what is to become of each app; null if the engine cannot be asked. Does nothing. */
  async preview(): Promise<Judged[] | null> {
    try {
      await this.connect();
      if (this.isRivalled) return null;
      const wanted = this.wanted;
      const actual = await this.#observe(wanted);
      return aimsIn(
        this.#world(wanted, actual, { hasRoomToSwap: true, lack: null }, this.#runner.underWay()),
      );
    } catch (error) {
      this.#noteOutage(error);
      return null;
    }
  }

  /** Looks and acts. Resolves once the look is over; steps go on. Never rejects. */
  look(): Promise<Plan | null> {
    return this.#flight.request();
  }

  /** Saves what is remembered. */
  async save(): Promise<void> {
    const problem = await this.#parts.memoryFile.write(this.memory);
    if (problem === null) this.#problems.clear('state-not-saved');
    else if (this.#problems.note('state-not-saved', problem))
      this.#parts.logger.error({ problem }, 'what this worker knows could not be saved; it goes on');
  }

  /** Begins no more steps, cancels pulls, and waits for the steps under way. Containers keep running. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#runner.cancelPulls();
    await this.#flight.idle();
    await this.#runner.idle();
    await this.save();
  }

  async #look(): Promise<Plan | null> {
    if (this.#isStopped) return null;
    const made = await this.#lookAndAct();
    this.nextLookAt = secondsOf(this.#parts) + this.#pause();
    this.#onChange();
    return made;
  }

  async #lookAndAct(): Promise<Plan | null> {
    try {
      await this.connect();
      const wanted = this.wanted;
      const before = this.#runner.underWay();
      const { pulled } = this.memory;
      const actual = await this.#observe(wanted);
      this.actual = actual;
      this.lookedAt = wallTimeOf(this.#parts);
      this.remember(forgetImages(this.memory, actual, pulled));
      noteUnclear(this.#parts, this.#problems, actual);
      if (this.isRivalled) return null;
      return await this.#act(wanted, actual, before);
    } catch (error) {
      this.#noteOutage(error);
      return null;
    }
  }

  /** Asks the engine who it is, unless it is known. Rejects with an `EngineError`. */
  async connect(): Promise<void> {
    if (this.info !== null) return;
    const { engine, identity, logger, config } = this.#parts;
    this.info = await engine.connect();
    this.#machine = this.info;
    const { name, version, api } = this.info;
    if (NAME_PATTERN.test(name)) this.remember({ name });
    identity.name = deviceName(config, this.memory.name);
    this.#problems.clear('engine-unavailable');
    logger.info({ name, version, api }, 'connected to the container engine');
  }

  #noteOutage(error: unknown): void {
    const isEngine = error instanceof EngineError;
    if (!isEngine) this.#parts.logger.error({ err: error }, 'a look failed');
    this.info = null;
    this.#inspected.clear();
    // What ended together with the engine has not failed.
    this.#known.session = { ...this.session, sightings: {} };
    if (this.#problems.note('engine-unavailable', messageOf(error)) && isEngine)
      this.#parts.logger.warn(
        { reason: messageOf(error) },
        'the container engine cannot be used; containers are left to it',
      );
  }

  #observe(wanted: Wanted | null): Promise<Actual> {
    const { config, engine } = this.#parts;
    const names = new Set(wanted?.apps.map(({ name }) => name));
    const takesAll = config.TAKE_OVER_NEBULA === 'all' && wanted !== null;
    return observe(
      engine,
      {
        worker: config.WORKER,
        prefix: prefixOf(config.WORKER),
        takesOver: (app) => takesAll || names.has(app),
      },
      {
        isChanging: (app) => this.session.phases[app]?.state !== 'running',
        references: wanted?.apps.flatMap(({ record }) => record?.container_image ?? []) ?? [],
      },
      this.#inspected,
    );
  }

  /** `before` is what was under way when the look began: of that, the look can have seen either side. */
  async #act(wanted: Wanted | null, actual: Actual, before: UnderWay): Promise<Plan> {
    if (wanted !== null) noteForeign(this.#parts, this.#problems, actual);
    const disk = await this.#makeRoom(actual, wanted);
    const made = plan(this.#world(wanted, actual, disk, before));
    Object.assign(this.#known, { memory: made.memory, session: made.session });
    for (const failure of made.failures) await this.#keepLog(failure);
    await this.lastLines.look(made.session, actual);
    await this.save();
    this.#runner.cancelPulls(
      (app, id) => wanted === null || wanted.apps.some((one) => one.name === app && one.id === id),
    );
    await ensureNetwork(this.#parts, this.#problems, made, actual);
    if (this.isRivalled) return made;
    if (!this.#isStopped) this.#runner.begin(made);
    if (this.isIdle && wanted !== null && actual.blind === null) this.#prune(wanted, actual);
    return made;
  }

  /** What a pull needs is not known before it: an image goes each time that one fails for want of room. */
  async #makeRoom(actual: Actual, wanted: Wanted | null): Promise<Disk> {
    const now = secondsOf(this.#parts);
    const short = shortOfRoom(this.session, now);
    const isShort = short.length > 0;
    const care = await this.#images.careForDisk(this.info?.root ?? '/', { actual, wanted, isShort });
    if (care.removed > 0) this.#known.session = withPullsNow(this.session, short, now);
    return care.disk;
  }

  #world(wanted: Wanted | null, actual: Actual, disk: Disk, before: UnderWay): World {
    const now = this.#runner.underWay();
    return {
      wanted,
      actual,
      memory: this.memory,
      session: this.session,
      rules: rulesOf(this.#parts.config),
      disk,
      busy: new Set([...before.busy, ...now.busy, ...actual.unclear.keys()]),
      pulling: new Set([...before.pulling, ...now.pulling]),
      now: secondsOf(this.#parts),
      wallTime: wallTimeOf(this.#parts),
      random: this.#parts.random(),
    };
  }

  async #keepLog({ app, container }: Plan['failures'][number]): Promise<void> {
    const log = await this.#parts.engine.logs(container, LOG_LINES).catch(() => []);
    const memory = this.memory.apps[app];
    if (memory?.failed == null) return;
    this.counts.rollbacks += 1;
    const { code, text, id } = memory.failed;
    this.#parts.logger.warn({ app, id, code, log }, `${app} is taken back: ${text}`);
    this.remember({
      apps: { ...this.memory.apps, [app]: { ...memory, failed: { ...memory.failed, log } } },
    });
  }

  /** Carries a prune out once nothing else is to be done. The first one ever seen is only remembered. */
  #prune(wanted: Wanted, actual: Actual): void {
    const done = this.memory.pruneId;
    if (done === null) this.remember({ pruneId: wanted.pruneId });
    else if (wanted.pruneId > done) this.#runner.track(this.#images.prune(actual, wanted));
  }
}
