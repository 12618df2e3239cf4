import { setImmediate } from 'node:timers/promises';
import { createSingleFlight, type SingleFlight } from '../async/single-flight.ts';
import { asHoldfastError, messageOf, ShutdownError } from '../errors.ts';
import type { Emit } from '../events/hub.ts';
import type { Keeper } from '../ids/keeper/keeper.ts';
import { keyOf } from '../protocol/name.ts';
import type { Source } from '../source/source.ts';
import { describeError } from './backoff.ts';
import type { ReconcileEvents } from './events.ts';
import { createOriginWatch, type OriginWatch } from './origin-watch.ts';
import type { PassDependencies } from './pass/dependencies.ts';
import { createPassRunner, type PassOutcome, type PassReport, type PassRunner } from './pass/pass.ts';
import { createAlarm, nextPassDelay } from './schedule.ts';
import { createAging, type PassError, STARTING, type Status } from './status.ts';
import { summarize } from './summary.ts';

/** What a reconciler works with. */
export interface ReconcilerDependencies
  extends Omit<PassDependencies, 'reader' | 'origin' | 'record' | 'isFolderOnDisk'> {
  source: Source;
  /** Milliseconds between polls; 0 turns them off. */
  pollInterval: number;
  /** In [0, 1), for spreading retries. */
  random(): number;
  emit: Emit<ReconcileEvents>;
  keeper: PassDependencies['keeper'] & Pick<Keeper, 'flush'>;
}

/** A loop over this many changes takes a few milliseconds. */
const MANY = 500;

const CLOSING: PassOutcome = {
  ok: false,
  error: new ShutdownError(),
};

/** Keeps the store at the head of the branch. */
export interface Reconciler {
  /**
   * Takes over ids that were given before, so that nothing is served from a store that is older. Never rejects: the first
   * pass tries again what fails here.
   */
  prepare(): Promise<void>;
  /** Starts watching and runs the first pass. Resolves when it has ended, whether it succeeded or failed. */
  start(): Promise<PassOutcome>;
  /** Runs a pass that begins after this call, without fetching from origin. */
  reconcile(): Promise<PassOutcome>;
  /**
   * Resolves to the latest pass if it succeeded and found this revision at the head. Otherwise runs a pass that begins
   * after this call, and resolves to it whatever head it finds.
   */
  passAt(revision: string): Promise<PassOutcome>;
  /** Fetches from origin, then runs a pass; both begin after this call. */
  pollOrigin(): Promise<PassOutcome>;
  status(): Status;
  /**
   * Calls `take` while no pass runs, so that everything in `passes` is of one revision: after the pass that is running, and
   * before the next one.
   */
  atRest<T>(take: () => T): Promise<T>;
  /**
   * The state that passes keep. It can change at every turn of the event loop: use `atRest`, or compare `reading` before and
   * after a use of `desired` that takes more than one turn.
   */
  readonly passes: Pick<
    PassRunner,
    'desired' | 'head' | 'reading' | 'memory' | 'problems' | 'addFirstCommit'
  >;
  /** Waits for the pass that is running, and starts no more. */
  close(): Promise<void>;
}

export function createReconciler(dependencies: ReconcilerDependencies): Reconciler {
  const { source, emit } = dependencies;
  const origin = createOriginWatch({ ...dependencies, origin: source.origin });
  const passes = createPassRunner({ ...dependencies, ...source, origin: origin.origin });
  const alarm = createAlarm(() => void originPasses.request());
  const { status, end } = createEnding(dependencies, { passes, origin, setAlarm: alarm.set });
  let isClosed = false;

  const pass = async (): Promise<PassOutcome> => {
    if (isClosed) return CLOSING;
    const outcome = await attempt(passes);
    if (outcome.ok) await tellChanged(outcome.report, emit);
    // What the store took is not known.
    else if (passes.memory() === null) emit('changed', { keys: null });
    return end(outcome);
  };
  const flight = createSingleFlight(pass);
  const watching = createWatching(dependencies, () => void flight.request());
  const originPasses = fetchingFirst(origin, flight, () => isClosed);

  return {
    passes,
    status: () => ({ ...status(), ...watching.problem() }),
    reconcile: () => flight.request(),
    atRest: (take) => flight.between(take),
    passAt: (revision) => passAt(flight, revision),
    pollOrigin: () => originPasses.request(),
    prepare: () => passes.prepare().catch(() => undefined),
    start: () => watching.start().then(originPasses.request),
    close: async () => {
      isClosed = true;
      alarm.stop();
      await watching.close();
      await originPasses.idle();
      await flight.idle();
    },
  };
}

/** Watches the source. `problem` is the part of the status that says why nothing is noticed, and since when. */
function createWatching(
  { source, emit, now }: ReconcilerDependencies,
  onChange: () => void,
): { start(): Promise<void>; close(): Promise<void>; problem(): Pick<Status, 'watchProblem'> | null } {
  let problem: Pick<Status, 'watchProblem'> | null = null;
  let stop = async (): Promise<void> => undefined;
  const onTrouble = (error: unknown): void => {
    if (problem === null) emit('watchFailed', { error });
    problem ??= { watchProblem: { message: messageOf(error), since: now() } };
  };
  return {
    start: async () => {
      ({ close: stop } = await source.watch({ onChange, onTrouble }));
    },
    close: () => stop(),
    problem: () => problem,
  };
}

/** What follows a pass: status, events, the record of a seeding, and the time of the next pass. */
function createEnding(
  { now, random, pollInterval, emit, keeper }: ReconcilerDependencies,
  parts: { passes: PassRunner; origin: OriginWatch; setAlarm(delay: number | null): void },
): { status(): Status; end(outcome: PassOutcome): Promise<PassOutcome> } {
  const { passes, origin, setAlarm } = parts;
  const ageProblems = createAging();
  let status: Status = { ...STARTING, origin: origin.status() };
  let passError: PassError | null = null;

  /** A bug after the pass is shown as its failure, and the pass is tried again. */
  const failed = (bug: unknown, at: number): PassOutcome => {
    const outcome = { ok: false, error: asHoldfastError(bug), head: passes.head() } as const;
    passError = describeError(outcome.error, passError, at, random());
    status = { ...status, state: 'failing', error: passError };
    emit('passed', { outcome, status });
    return outcome;
  };

  const end = async (outcome: PassOutcome): Promise<PassOutcome> => {
    // Read once: if the clock were set between two reads of it, the next poll could be hours away.
    const at = now();
    passError = outcome.ok ? null : describeError(outcome.error, passError, at, random());
    try {
      status = await summarize({ passes, outcome, passError, before: status, ageProblems, origin, now: at });
      emit('passed', { outcome, status });
      // If the store were lost again before the ids of a seeding are recorded, the next one would find the older record.
      if (outcome.ok && outcome.report.seeding !== null) await keeper.flush();
      return outcome;
    } catch (error) {
      return failed(error, at);
    } finally {
      setAlarm(nextPassDelay({ passError, origin, pollInterval, now: at }));
    }
  };
  return { status: () => status, end };
}

function fetchingFirst(
  origin: Pick<OriginWatch, 'refresh'>,
  passes: SingleFlight<PassOutcome>,
  isClosed: () => boolean,
): SingleFlight<PassOutcome> {
  return createSingleFlight(async () => {
    if (!isClosed()) await origin.refresh();
    return passes.request();
  });
}

async function passAt(passes: SingleFlight<PassOutcome>, revision: string): Promise<PassOutcome> {
  const latest = await passes.landed();
  return latest?.ok === true && latest.report.head.revision === revision ? latest : passes.request();
}

async function tellChanged({ steps }: PassReport, emit: Emit<ReconcileEvents>): Promise<void> {
  const keys = steps.map(({ kind, name }) => keyOf(kind, name));
  if (keys.length > 0) emit('changed', { keys });
  // The listeners of this event and of the next take some milliseconds after a large pass: the event loop gets a turn between.
  if (keys.length >= MANY) await setImmediate();
}

async function attempt(passes: PassRunner): Promise<PassOutcome> {
  try {
    return { ok: true, report: await passes.run() };
  } catch (error) {
    return { ok: false, error: asHoldfastError(error), head: passes.head() };
  }
}
