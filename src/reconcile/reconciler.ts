import { keyOf } from '../desired/name.ts';
import { HoldfastError, kindOf, messageOf } from '../errors.ts';
import type { Source } from '../source/source.ts';
import type { Store } from '../store/store.ts';
import { reactionTo, retryDelay } from './backoff.ts';
import { createPassRunner, type PassDependencies, type PassReport, type PassRunner } from './pass.ts';
import { createSingleFlight } from './single-flight.ts';
import { ageProblems, type PassError, STARTING, type Status } from './status.ts';

/** How a pass ended; it never rejects. */
export type PassOutcome = { ok: true; report: PassReport } | { ok: false; error: HoldfastError };

/** What a reconciler works with. Whoever wants to hear of passes passes functions in. */
export interface ReconcilerDependencies extends Omit<PassDependencies, 'reader' | 'record'> {
  source: Source;
  store: Store;
  /** Milliseconds between looks by the clock; 0 turns them off. */
  pollInterval: number;
  /** In [0, 1), for spreading retries. */
  random(): number;
  /** Called with the keys of the objects that a pass changed, before anybody else learns of the pass. */
  onApplied(keys: string[], report: PassReport): void;
  /**
   * Called at the end of every pass, with its outcome and the status that it left; must not reject. Who waits for
   * the pass waits for this too.
   */
  onPass(outcome: PassOutcome, status: Status): Promise<void>;
}

/** Keeps the store at the head of the branch. */
export interface Reconciler {
  /**
   * Takes over what the past knows of ids, before anybody is served from a store that could be older than that. What
   * fails here is tried again by the first pass.
   */
  prepare(): Promise<void>;
  /** Runs the first pass and begins to watch; resolves when that pass is over, whatever came of it. */
  start(): Promise<PassOutcome>;
  /** Resolves with a pass that begins after this call. */
  reconcile(): Promise<PassOutcome>;
  status(): Status;
  /** What passes know; the write road reads it between two passes, in one turn. */
  readonly passes: Pick<PassRunner, 'desired' | 'memory' | 'head' | 'problems'>;
  /** Ends the pass that is under way and begins no more. */
  close(): Promise<void>;
}

export function createReconciler(dependencies: ReconcilerDependencies): Reconciler {
  const { source, now, random, pollInterval, onApplied, onPass } = dependencies;
  const passes = createPassRunner({ ...dependencies, reader: source.reader, record: source.record });
  const clock = createClock(() => void flight.request());
  let status = STARTING;
  let isClosed = false;
  let stopWatching = async (): Promise<void> => undefined;

  const pass = async (): Promise<PassOutcome> => {
    if (isClosed)
      return { ok: false, error: new HoldfastError('unavailable', 'the manager is shutting down') };
    const outcome = await attempt(passes);
    const appliedKeys = outcome.ok ? outcome.report.steps.map(({ kind, name }) => keyOf(kind, name)) : [];
    if (outcome.ok && appliedKeys.length > 0) onApplied(appliedKeys, outcome.report);
    status = summarize(passes, outcome, status, now(), random());
    await onPass(outcome, status);
    clock.set(nextLook(status, pollInterval, now()));
    return outcome;
  };
  const flight = createSingleFlight(pass);

  return {
    passes,
    status: () => status,
    reconcile: () => flight.request(),
    prepare: () => passes.prepare().catch(() => undefined),
    start: async () => {
      const watcher = await source.watch(() => void flight.request());
      stopWatching = () => watcher.close();
      return flight.request();
    },
    close: async () => {
      isClosed = true;
      clock.set(null);
      await stopWatching();
      await flight.idle();
    },
  };
}

async function attempt(passes: PassRunner): Promise<PassOutcome> {
  try {
    return { ok: true, report: await passes.run() };
  } catch (error) {
    const known =
      error instanceof HoldfastError ? error : new HoldfastError('internal', messageOf(error), {}, error);
    return { ok: false, error: known };
  }
}

/** The one place where a status is made: at the end of every pass, also of a failed one. */
function summarize(
  passes: PassRunner,
  outcome: PassOutcome,
  before: Status,
  now: number,
  random: number,
): Status {
  const store = passes.memory()?.store;
  const head = passes.head();
  return {
    state: outcome.ok ? 'applied' : kindOf(outcome.error) === 'stalled' ? 'refused' : 'failing',
    branch: head?.branch?.replace(/^refs\/heads\//, '') ?? null,
    attempted: attemptedBy(head?.revision ?? null, outcome, store?.attempted ?? before.attempted, now),
    applied: store?.applied ?? before.applied,
    error: outcome.ok ? null : describeError(outcome.error, before.error, now, random),
    ...found(outcome, before, now),
    problems: ageProblems(passes.problems(), before.problems, now),
  };
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

function describeError(
  error: HoldfastError,
  before: PassError | null,
  now: number,
  random: number,
): PassError {
  const failures = (before?.failures ?? 0) + 1;
  const delay = retryDelay(reactionTo(error.kind), failures, random);
  return {
    kind: error.kind,
    message: error.message,
    since: before?.since ?? now,
    failures,
    retryAt: delay === null ? null : now + delay,
  };
}

/** Milliseconds until the loop looks by itself again; null: only when something tells it to. */
function nextLook(status: Status, pollInterval: number, now: number): number | null {
  const retryAt = status.error?.retryAt ?? null;
  if (retryAt !== null) return Math.max(0, retryAt - now);
  return pollInterval === 0 ? null : pollInterval;
}

/** One timer: setting it again replaces what was set before. */
function createClock(ring: () => void): { set(delay: number | null): void } {
  let timer: NodeJS.Timeout | undefined;
  return {
    set: (delay) => {
      clearTimeout(timer);
      if (delay !== null) timer = setTimeout(ring, delay).unref();
    },
  };
}
