import { setTimeout as wait } from 'node:timers/promises';
import { retryDelay } from '../../async/backoff.ts';
import { createSingleFlight } from '../../async/single-flight.ts';
import { isShutdownError, kindOf, messageOf } from '../../errors.ts';
import type { Emit } from '../../events/hub.ts';
import { type RecordDependencies, type RecordOutcome, RecordWriter } from './record-writer.ts';

/** Milliseconds from the last change until it is written, and the longest delay after the first change. */
const DELAY = 1000;
const LONGEST_DELAY = 5000;
/** How often the last update before the process ends is tried again, and after how many milliseconds. */
const LAST_RETRIES = 2;
const LAST_RETRY_DELAY = 100;

/** The status of the record. Times are Unix milliseconds. */
export interface RecordStatus {
  /** What is recorded; null until this process has written or read it. `at` is null if it has not written it. */
  recorded: { idSequence: number; revision: string | null; at: number | null } | null;
  /** Why ids are not recorded, or only on this machine, and since when. */
  problem: { message: string; since: number } | null;
  /** The last replacement of a section that could not be read, with what was wrong with it. */
  replaced: { message: string; at: number } | null;
}

/** What happens to the record. */
export interface RecordEvents {
  /** An attempt did not record the ids, or that has ended, or a damaged section was replaced; `error` is for the log. */
  recordStatus: { status: RecordStatus; error: unknown };
}

/** What a recorder works with. */
export interface RecorderDependencies extends RecordDependencies {
  /** In [0, 1), for spreading retries. */
  random(): number;
  emit: Emit<RecordEvents>;
}

/** Keeps the record of ids up to date with the store. Only the end of the process and a pass after a seeding wait for it. */
export interface Recorder {
  /** Schedules a write: ids, or the applied revision, may have changed. */
  scheduleWrite(): void;
  /** Writes what is not written yet. Resolves when it has succeeded or failed; never rejects. */
  flush(): Promise<void>;
  /** See `RecordWriter.allowReplacing`. */
  allowReplacing(version: string): void;
  status(): RecordStatus;
  /** Writes what is not written yet, and then stops. */
  close(): Promise<void>;
}

export function createRecorder(dependencies: RecorderDependencies): Recorder {
  const { now, random, emit } = dependencies;
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
      const outcome = await update(writer, isClosed ? LAST_RETRIES : 0);
      status = statusAfter(outcome, before, now());
      failures = 0;
    } catch (error) {
      failure = error;
      failures += 1;
      status = statusFailing(error, before, now());
      const delay = isClosed ? null : delayAfter(error, failures, random());
      if (delay !== null) timers.start(delay);
    }
    if (isReportable(before, status)) emit('recordStatus', { status, error: failure });
  };
  const flight = createSingleFlight(attempt);

  return {
    status: () => status,
    scheduleWrite: () => {
      if (!isClosed) timers.touch();
    },
    flush: () => flight.request(),
    allowReplacing: (version) => writer.allowReplacing(version),
    close: async () => {
      isClosed = true;
      await flight.request();
      timers.stop();
    },
  };
}

/**
 * Updates the record, with up to so many retries. They are for the last update before the process ends: a terminal and
 * systemd send their signal to all processes of a group, so the git processes can end at the same moment as the manager.
 * A retry starts new ones.
 */
async function update(writer: RecordWriter, retries: number): Promise<RecordOutcome> {
  for (let tries = 0; tries < retries; tries++) {
    try {
      return await writer.update();
    } catch (error) {
      if (kindOf(error) !== 'unavailable' || isShutdownError(error)) throw error;
      await wait(LAST_RETRY_DELAY);
    }
  }
  return writer.update();
}

function statusAfter(
  { meta, hasWritten, replaced, localOnlyReason }: RecordOutcome,
  before: RecordStatus,
  now: number,
): RecordStatus {
  const at = hasWritten ? now : (before.recorded?.at ?? null);
  return {
    recorded: meta === null ? null : { idSequence: meta.idSequence, revision: meta.revision, at },
    problem: localOnlyReason === null ? null : problemOf(localOnlyReason, before, now),
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

function isReportable(before: RecordStatus, after: RecordStatus): boolean {
  return after.problem !== null || before.problem !== null || before.replaced !== after.replaced;
}

/** Two timers, of which the earlier one counts: `touch` restarts `delayTimer`, and starts `longestTimer` if it is not running. */
function createTimers(onEnd: () => void) {
  let delayTimer: NodeJS.Timeout | undefined;
  let longestTimer: NodeJS.Timeout | undefined;
  const set = (delay: number): NodeJS.Timeout => setTimeout(onEnd, delay).unref();
  const start = (delay: number): void => {
    clearTimeout(delayTimer);
    delayTimer = set(delay);
  };
  return {
    start,
    touch: () => {
      start(DELAY);
      longestTimer ??= set(LONGEST_DELAY);
    },
    stop: () => {
      clearTimeout(delayTimer);
      clearTimeout(longestTimer);
      longestTimer = undefined;
    },
  };
}
