import type { AppMemory, Memory } from './memory.ts';
import type { Actual, Container, Disk, Obstacle, Rules, Step, Wanted } from './model.ts';
import {
  type AppTrouble,
  type Lane,
  type Phase,
  type Session,
  without,
  withoutTrouble,
  withTrouble,
} from './session.ts';
import { type AppView, NO_MEMORY } from './view.ts';

/** Everything that a plan is made from. */
export interface World {
  /** Null before the first reply. */
  wanted: Wanted | null;
  actual: Actual;
  memory: Memory;
  session: Session;
  rules: Rules;
  disk: Disk;
  /** Apps with a step under way that changes containers; nothing else is done to them. */
  busy: ReadonlySet<string>;
  /** Apps whose image is being pulled. */
  pulling: ReadonlySet<string>;
  /** Seconds of a clock that never jumps. */
  now: number;
  /** Seconds since the Unix epoch. */
  wallTime: number;
  /** In [0, 1). */
  random: number;
}

/** A plan while it is made: steps, and what the worker then knows. */
export class Draft {
  readonly world: World;
  readonly steps: Step[] = [];
  /** Containers whose last lines say why a version failed. */
  readonly failures: { app: string; container: string }[] = [];
  readonly phases = new Map<string, Phase>();
  #memory: Memory;
  #session: Session;

  constructor(world: World) {
    this.world = world;
    this.#memory = world.memory;
    this.#session = world.session;
  }

  memoryOf(app: string): AppMemory {
    return this.#memory.apps[app] ?? NO_MEMORY;
  }

  /** Returns the ids of containers of an app that the worker stopped, and that are not started again yet. */
  stoppedOf(app: string): readonly string[] {
    return this.memoryOf(app).stopped ?? [];
  }

  remember(app: string, change: Partial<AppMemory>): void {
    this.#memory = {
      ...this.#memory,
      apps: { ...this.#memory.apps, [app]: { ...this.memoryOf(app), ...change } },
    };
  }

  /** Forgets an app that is gone. */
  forget(app: string): void {
    this.#memory = { ...this.#memory, apps: without(this.#memory.apps, app) };
    const { troubles, stale } = this.#session;
    this.#session = {
      ...this.#session,
      troubles: without(troubles, app),
      stale: without(stale, app),
    };
  }

  trouble(app: string, lane: Lane): AppTrouble | undefined {
    return this.#session.troubles[app]?.[lane];
  }

  /** Counts another attempt of a lane, and says when the next one is due. */
  note(app: string, lane: Lane, trouble: Obstacle & { id: number }): void {
    this.#session = withTrouble(this.#session, app, lane, trouble, this.world);
  }

  clear(app: string, ...lanes: readonly Lane[]): void {
    this.#session = withoutTrouble(this.#session, app, ...lanes);
  }

  /** Whether a lane may be tried for an id now. */
  isDue(app: string, lane: Lane, id: number): boolean {
    const before = this.trouble(app, lane);
    return before === undefined || before.id !== id || before.nextTry <= this.world.now;
  }

  setPhase(app: string, state: Phase['state'], obstacle: Obstacle | null = null): void {
    const before = this.world.session.phases[app];
    const isSame = before !== undefined && before.obstacle?.code === obstacle?.code;
    this.phases.set(app, { state, obstacle, since: isSame ? before.since : this.world.wallTime });
  }

  wait(app: string, id: number, until: number): void {
    this.#session = { ...this.#session, waits: { ...this.#session.waits, [app]: { id, until } } };
  }

  /** Notes that an app uses an image that could not be pulled again. */
  useStale(app: string, id: number, text: string): void {
    const stale = { id, text, since: this.world.wallTime };
    this.#session = { ...this.#session, stale: { ...this.#session.stale, [app]: stale } };
  }

  /** Begins to watch a container from now on: what happened to it before does not count against it. */
  sight({ id, restarts }: Container): void {
    const sightings = { ...this.#session.sightings, [id]: { since: this.world.now, restarts } };
    this.#session = { ...this.#session, sightings };
  }

  result(): { memory: Memory; session: Session } {
    return { memory: this.#memory, session: this.#session };
  }
}

/** Returns the view of an app with what the draft remembers of it by now. */
export function refreshed(view: AppView, draft: Draft): AppView {
  return { ...view, memory: draft.memoryOf(view.name) };
}
