import { setImmediate } from 'node:timers/promises';
import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { keyOf } from '../desired/name.ts';
import { asHoldfastError, HoldfastError, SHUTTING_DOWN } from '../errors.ts';
import type { Source } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import { describeError } from './backoff.ts';
import { createOriginPasses } from './origin-passes.ts';
import { createOriginWatch } from './origin-watch.ts';
import type { PassDependencies } from './pass/dependencies.ts';
import { createPassRunner, type PassOutcome, type PassReport, type PassRunner } from './pass/pass.ts';
import { createAlarm, nextLook } from './schedule.ts';
import { createAging, type PassError, STARTING, type Status } from './status.ts';
import { summarize } from './summary.ts';

/** What a reconciler works with, and the functions that it calls after passes. */
export interface ReconcilerDependencies
  extends Omit<PassDependencies, 'reader' | 'origin' | 'record' | 'isFolderMade'> {
  source: Source;
  /** Null if no other manager polls origin for this one. */
  lease: PollLease | null;
  /** Milliseconds between polls; 0 turns them off. */
  pollInterval: number;
  /** In [0, 1), for spreading retries. */
  random(): number;
  /** Called first after a pass, with the keys of the objects that it changed or found changed. */
  onApplied(keys: string[], report: PassReport): void;
  /**
   * Called at the end of every pass, with its outcome and the status that it left; must not reject. Who waits for
   * the pass waits for this too.
   */
  onPass(outcome: PassOutcome, status: Status): Promise<void>;
}

/** So many changes take a few milliseconds wherever they are gone through. */
const MANY = 500;

const CLOSING: PassOutcome = {
  ok: false,
  error: new HoldfastError('unavailable', SHUTTING_DOWN),
};

/** Keeps the store at the head of the branch. */
export interface Reconciler {
  /**
   * Takes over what the past knows of ids, before anything is served from a store that could be older than that. What
   * fails here is tried again by the first pass.
   */
  prepare(): Promise<void>;
  /** Runs the first pass and begins to watch; resolves when that pass is over, whatever came of it. */
  start(): Promise<PassOutcome>;
  /** Resolves with a pass that begins after this call, on what was fetched last. */
  reconcile(): Promise<PassOutcome>;
  /**
   * Resolves with a pass that found this revision at the head: the latest one where it did, otherwise one that begins
   * after this call, whatever it finds.
   */
  reach(revision: string): Promise<PassOutcome>;
  /** Asks origin first, then reconciles; resolves with a pass on what origin had after this call. */
  look(): Promise<PassOutcome>;
  status(): Status;
  /**
   * What passes know. It can change at every turn of the event loop: compare `reading` before and after a longer use of
   * `desired`.
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
  const alarm = createAlarm(() => void originPasses.byClock());
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
    // Both this and the log of a large pass take some milliseconds.
    if (changed.length >= MANY) await setImmediate();
    // Read once: if the clock were set between two readings, the next poll could be hours away.
    const at = now();
    passError = outcome.ok ? null : describeError(outcome.error, passError, at, random());
    status = await summarize({ passes, outcome, passError, before: status, ageProblems, origin, now: at });
    await onPass(outcome, status);
    alarm.set(nextLook({ passError, origin, pollInterval, now: at }));
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
      alarm.stop();
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

/** Keys of the objects that the pass changed, or found changed by another manager. */
function changedBy({ steps, changedElsewhere }: PassReport): string[] {
  return [...steps.map(({ kind, name }) => keyOf(kind, name)), ...changedElsewhere];
}

async function attempt(passes: PassRunner): Promise<PassOutcome> {
  try {
    return { ok: true, report: await passes.run() };
  } catch (error) {
    return { ok: false, error: asHoldfastError(error), head: passes.head() };
  }
}
