import { setTimeout as wait } from 'node:timers/promises';
import { createSingleFlight } from '../../async/single-flight.ts';
import { isOfShutdown, kindOf, messageOf } from '../../errors.ts';
import { retryDelay } from '../backoff.ts';
import { type RecordDependencies, type RecordOutcome, RecordWriter } from './record-writer.ts';

/** Milliseconds after the last change until it is written, and at most after the first one. */
const QUIET = 1000;
const LONGEST = 5000;
/** How often the last version is tried again, and after how many milliseconds. */
const LAST_TRIES = 2;
const LAST_PAUSE = 100;

/** The status of the record. Times are Unix milliseconds. */
export interface RecordStatus {
  /** What is recorded, as this process wrote or found it; `at` is null if it found it. Null before that. */
  recorded: { idSequence: number; revision: string | null; at: number | null } | null;
  /** Why ids are not recorded now, or only where a loss of this machine takes them along, and since when. */
  problem: { message: string; since: number } | null;
  /** The last time that something stood there which could not be read, and was replaced. */
  replaced: { message: string; at: number } | null;
}

/** What a recorder works with. */
export interface RecorderDependencies extends RecordDependencies {
  /** In [0, 1), for spreading retries. */
  random(): number;
  /**
   * Called when a problem begins, changes or ends, and when something unreadable was replaced; `error` is for the log.
   */
  onStatus(status: RecordStatus, error?: unknown): void;
}

/**
 * Keeps the record of ids up with the store. Nothing waits for it but the end of the process and a start after a loss.
 */
export interface Recorder {
  /** Says that ids, or the revision, may have changed: written after a short while. */
  touch(): void;
  /** Writes what is not written yet. Resolves when that is done, or has failed; never rejects. */
  flush(): Promise<void>;
  /** Says from which version, of another store, this one's counters go on: it can be written over. */
  adopt(version: string): void;
  status(): RecordStatus;
  /** Writes what is not written yet, and nothing more after that. */
  close(): Promise<void>;
}

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { now, random, onStatus } = dependencies;
  const writer = new RecordWriter(dependencies);
  const timers = createTimers(() => void flight.request());
  let status: RecordStatus = { recorded: null, problem: null, replaced: null };
  let failures = 0;
  let isClosed = false;

  const attempt = async (): Promise<void> => {
    timers.stop();
    const before = status;
    let failure: unknown;
    try {
      const outcome = await update(writer, isClosed ? LAST_TRIES : 0);
      status = statusAfter(outcome, before, now());
      failures = 0;
    } catch (error) {
      failure = error;
      failures += 1;
      status = statusFailing(error, before, now());
      const delay = isClosed ? null : delayAfter(error, failures, random());
      if (delay !== null) timers.start(delay);
    }
    if (isNews(before, status)) onStatus(status, failure);
  };
  const flight = createSingleFlight(attempt);

  return {
    status: () => status,
    touch: () => {
      if (!isClosed) timers.touch();
    },
    flush: () => flight.request(),
    adopt: (version) => writer.adopt(version),
    close: async () => {
      isClosed = true;
      await flight.request();
      timers.stop();
    },
  };
}

/**
 * Updates the record; at the end of the process after `triesBefore` tries that may fail, since nobody tries later.
 * Whoever ends the manager may end its git processes at the same moment: a terminal and systemd signal all processes of
 * a group. New ones are started then.
 */
async function update(writer: RecordWriter, triesBefore: number): Promise<RecordOutcome> {
  for (let tries = 0; tries < triesBefore; tries++) {
    try {
      return await writer.update();
    } catch (error) {
      if (kindOf(error) !== 'unavailable' || isOfShutdown(error)) throw error;
      await wait(LAST_PAUSE);
    }
  }
  return writer.update();
}

function statusAfter(
  { meta, hasWritten, replaced, aside }: RecordOutcome,
  before: RecordStatus,
  now: number,
): RecordStatus {
  const at = hasWritten ? now : (before.recorded?.at ?? null);
  return {
    recorded: meta === null ? null : { idSequence: meta.idSequence, revision: meta.revision, at },
    problem: aside === null ? null : problemOf(aside, before, now),
    replaced: replaced === null ? before.replaced : { message: replaced, at: now },
  };
}

function delayAfter(error: unknown, failures: number, random: number): number | null {
  return retryDelay(kindOf(error) === 'conflict' ? 'refused' : 'unavailable', failures, random);
}

function statusFailing(error: unknown, before: RecordStatus, now: number): RecordStatus {
  return { ...before, problem: problemOf(messageOf(error), before, now) };
}

function problemOf(message: string, before: RecordStatus, now: number): RecordStatus['problem'] {
  return { message, since: before.problem?.since ?? now };
}

function isNews(before: RecordStatus, after: RecordStatus): boolean {
  return before.problem?.message !== after.problem?.message || before.replaced !== after.replaced;
}

/** A timer that each touch restarts, and one that the first touch starts; whichever ends first rings. */
function createTimers(ring: () => void) {
  let quiet: NodeJS.Timeout | undefined;
  let longest: NodeJS.Timeout | undefined;
  const set = (delay: number): NodeJS.Timeout => setTimeout(ring, delay).unref();
  const start = (delay: number): void => {
    clearTimeout(quiet);
    quiet = set(delay);
  };
  return {
    start,
    touch: () => {
      start(QUIET);
      longest ??= set(LONGEST);
    },
    stop: () => {
      clearTimeout(quiet);
      clearTimeout(longest);
      longest = undefined;
    },
  };
}
