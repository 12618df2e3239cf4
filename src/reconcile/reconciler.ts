import { setImmediate } from 'node:timers/promises';
import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { keyOf } from '../desired/name.ts';
import { asHoldfastError, HoldfastError, kindOf } from '../errors.ts';
import type { Source } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import type { PassStore } from '../store/store.ts';
import { describeError } from './backoff.ts';
import { createOriginPasses } from './origin-passes.ts';
import { createOriginWatch, type OriginWatch } from './origin-watch.ts';
import {
  createPassRunner,
  type PassDependencies,
  type PassOutcome,
  type PassReport,
  type PassRunner,
} from './pass/pass.ts';
import { createAging, type OriginStatus, type PassError, STARTING, type Status } from './status.ts';

/** What a reconciler works with. Whoever wants to hear of passes passes functions in. */
export interface ReconcilerDependencies
  extends Omit<PassDependencies, 'reader' | 'origin' | 'record' | 'isFolderMade'> {
  source: Source;
  store: PassStore;
  /** Null where no other manager asks origin for this one. */
  lease: PollLease | null;
  /** Milliseconds between looks by the clock; 0 turns them off. */
  pollInterval: number;
  /** In [0, 1), for spreading retries. */
  random(): number;
  /** Called with the keys of the objects that a pass changed or found changed, before anybody else learns of the pass. */
  onApplied(keys: string[], report: PassReport): void;
  /**
   * Called at the end of every pass, with its outcome and the status that it left; must not reject. Who waits for
   * the pass waits for this too.
   */
  onPass(outcome: PassOutcome, status: Status): Promise<void>;
}

/** So many changes take a few milliseconds wherever they are gone through. */
const MANY = 500;

/** Milliseconds; a clock that was set back must not put the next look off for hours. */
const LONGEST_WAIT = 300_000;

const CLOSING: PassOutcome = {
  ok: false,
  error: new HoldfastError('unavailable', 'the manager is shutting down'),
};

/** Keeps the store at the head of the branch. */
export interface Reconciler {
  /**
   * Takes over what the past knows of ids, before anybody is served from a store that could be older than that. What
   * fails here is tried again by the first pass.
   */
  prepare(): Promise<void>;
  /** Runs the first pass and begins to watch; resolves when that pass is over, whatever came of it. */
  start(): Promise<PassOutcome>;
  /** Resolves with a pass that begins after this call, on what was fetched last. */
  reconcile(): Promise<PassOutcome>;
  /**
   * Resolves with a pass that found this revision at the head: the latest one where it did, otherwise one that begins after
   * this call, whatever it finds.
   */
  reach(revision: string): Promise<PassOutcome>;
  /** Asks origin first, then reconciles; resolves with a pass on what origin had after this call. */
  look(): Promise<PassOutcome>;
  status(): Status;
  /**
   * What passes know. It can change whenever others had a turn: who looks at `desired` for longer compares `reading`
   * before and after.
   */
  readonly passes: Pick<PassRunner, 'desired' | 'reading' | 'memory' | 'problems' | 'began'>;
  /** Ends the pass that is under way and begins no more. */
  close(): Promise<void>;
}

export function createReconciler(dependencies: ReconcilerDependencies): Reconciler {
  const { source, now, random, pollInterval, onApplied, onPass } = dependencies;
  const { watch } = source;
  const origin = createOriginWatch({ ...dependencies, origin: source.origin });
  const passes = createPassRunner({ ...dependencies, ...source, origin: origin.origin });
  const clock = createClock(() => void originPasses.byClock());
  const ageProblems = createAging();
  let status: Status = { ...STARTING, origin: origin.status() };
  let passError: PassError | null = null;
  let isClosed = false;
  let stopWatching = async (): Promise<void> => undefined;

  const pass = async (): Promise<PassOutcome> => {
    if (isClosed) return CLOSING;
    const outcome = await attempt(passes);
    const changed = outcome.ok ? changedBy(outcome.report) : [];
    if (outcome.ok && changed.length > 0) onApplied(changed, outcome.report);
    // Both this and what is told of a large pass take some milliseconds.
    if (changed.length >= MANY) await setImmediate();
    // One look at the clock: were it set between two, the next look could be hours away.
    const at = now();
    passError = outcome.ok ? null : describeError(outcome.error, passError, at, random());
    status = await summarize({ passes, outcome, passError, before: status, ageProblems, origin, now: at });
    await onPass(outcome, status);
    clock.set(nextLook({ passError, origin: origin.status() }, pollInterval, origin.lookedAt(), at));
    return outcome;
  };
  const flight = createSingleFlight(pass);
  const originPasses = createOriginPasses(origin, flight.request, () => isClosed);

  return {
    passes,
    status: () => ({ ...status, polling: origin.polling() }),
    reconcile: () => flight.request(),
    reach: (revision) => reach(flight, revision),
    look: () => originPasses.request(),
    prepare: () => passes.prepare().catch(() => undefined),
    start: async () => {
      ({ close: stopWatching } = await watch(() => void flight.request()));
      return originPasses.request();
    },
    close: async () => {
      isClosed = true;
      clock.stop();
      await stopWatching();
      await originPasses.idle();
      await flight.idle();
    },
  };
}

async function reach(passes: SingleFlight<PassOutcome>, revision: string): Promise<PassOutcome> {
  const latest = await passes.landed();
  return latest?.ok === true && latest.report.head.revision === revision ? latest : passes.request();
}

/** Keys of what the pass changed, and of what it found changed by another manager. */
function changedBy({ steps, followed }: PassReport): string[] {
  return [...steps.map(({ kind, name }) => keyOf(kind, name)), ...followed];
}

async function attempt(passes: PassRunner): Promise<PassOutcome> {
  try {
    return { ok: true, report: await passes.run() };
  } catch (error) {
    return { ok: false, error: asHoldfastError(error), head: passes.head() };
  }
}

/** A pass that is over, and what was known before it. */
interface Ending {
  passes: PassRunner;
  outcome: PassOutcome;
  passError: PassError | null;
  before: Status;
  ageProblems: ReturnType<typeof createAging>;
  origin: OriginWatch;
  now: number;
}

/** The one place where a status is made: at the end of every pass, also of a failed one. */
async function summarize(ending: Ending): Promise<Status> {
  const { passes, outcome, passError, before, ageProblems, origin: watch, now } = ending;
  const store = passes.memory()?.store;
  const head = passes.head();
  const origin = watch.status();
  return {
    state: stateOf(outcome, origin),
    origin,
    polling: watch.polling(),
    branch: head?.branch?.replace(/^refs\/heads\//, '') ?? null,
    attempted: attemptedBy(head?.revision ?? null, outcome, store?.attempted ?? before.attempted, now),
    applied: store?.applied ?? before.applied,
    error: passError ?? origin?.error ?? null,
    ...found(outcome, before, now),
    problems: await ageProblems(await passes.problems(), now),
  };
}

function stateOf(outcome: PassOutcome, origin: OriginStatus | null): Status['state'] {
  if (!outcome.ok) return kindOf(outcome.error) === 'stalled' ? 'refused' : 'failing';
  return origin?.error == null ? 'applied' : 'failing';
}

/** What a pass found once, and status goes on telling. */
function found(outcome: PassOutcome, before: Status, at: number): Pick<Status, 'rewritten' | 'seeded'> {
  if (!outcome.ok) return { rewritten: before.rewritten, seeded: before.seeded };
  const { rewrittenFrom, seeding, head } = outcome.report;
  return {
    rewritten:
      rewrittenFrom === null ? before.rewritten : { from: rewrittenFrom, to: head.revision ?? '', at },
    seeded: seeding === null ? before.seeded : { ...seeding, at },
  };
}

function attemptedBy(
  revision: string | null,
  outcome: PassOutcome,
  before: Status['attempted'],
  now: number,
): Status['attempted'] {
  if (revision === null || (outcome.ok && before?.revision === revision)) return before;
  return { revision, at: now };
}

/** What failed, each with its own time for the next try. */
interface Failures {
  passError: PassError | null;
  origin: OriginStatus | null;
}

/**
 * Milliseconds until the loop looks by itself again; null: only when something tells it to. A pass that failed is tried
 * again when its time has come; that neither puts off a look at the branch nor hides that origin is to be tried again.
 */
function nextLook(failures: Failures, pollInterval: number, lookedAt: number, now: number): number | null {
  // Writes run passes, too; however many there are, the next look by the clock stays where it is.
  const pollAt = pollInterval === 0 ? null : lookedAt + pollInterval;
  const originAt = failures.origin?.error?.retryAt ?? pollAt;
  const times = [failures.passError?.retryAt ?? null, originAt].filter((time) => time !== null);
  if (times.length === 0) return null;
  return Math.min(Math.max(0, Math.min(...times) - now), Math.max(pollInterval, LONGEST_WAIT));
}

/** One timer: setting it again replaces what was set before, and once stopped it is never set again. */
function createClock(ring: () => void): { set(delay: number | null): void; stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  return {
    set: (delay) => {
      clearTimeout(timer);
      if (delay !== null && !isStopped) timer = setTimeout(ring, delay).unref();
    },
    stop: () => {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
