import { setTimeout as wait } from 'node:timers/promises';
import { retryDelay } from '../../async/backoff.ts';
import { createSingleFlight } from '../../async/single-flight.ts';
import { isShutdownError, kindOf } from '../../errors.ts';
import type { Emit } from '../../events/hub.ts';
import type { Faults } from '../../faults.ts';
import type { IdState, IdStore } from '../id-store.ts';
import type { IdsReader } from '../ids-reader.ts';
import type { RecordRef, RecordVersion } from '../record-ref.ts';
import type { Seeding } from '../seeding/seed.ts';
import { createStart } from './start.ts';
import {
  isRecent,
  isReportable,
  NOT_RECORDED,
  type RecordStatus,
  statusAt,
  withOutcome,
  withRecorded,
} from './status.ts';
import { createWriteTimer } from './timer.ts';
import { RecordUpdate } from './update.ts';

/** How often the last update before the process ends is tried again, and after how many milliseconds. */
const LAST_RETRIES = 2;
const LAST_RETRY_DELAY = 100;

/** What happens to ids. */
export interface IdEvents {
  /**
   * The store was seeded: the ids of all objects may have risen. `isServed`: devices get them at once, since a revision was
   * applied before.
   */
  seeded: { isServed: boolean };
  /** Something about the record has to be logged; `error` is of an attempt that did not record the ids. */
  recordStatus: { status: RecordStatus; error: unknown };
}

/** What a keeper works with. */
export interface KeeperDependencies {
  reader: IdsReader;
  record: RecordRef;
  store: IdStore;
  /** The store as it is read for the record: also after its files were removed. */
  counters: Pick<IdStore, 'state' | 'counters'>;
  /** Unix milliseconds. */
  now(): number;
  /** In [0, 1), for spreading retries. */
  random(): number;
  faults: Faults;
  emit: Emit<IdEvents>;
}

/** Keeps ids from falling: at a start, the store takes over those that were given before; then they are recorded. */
export interface Keeper {
  /**
   * Seeds the store if ids have to be taken over. Reads the record at the first call and, if origin was not reached
   * then, again at the first call after it was. `state` must have been read before the head. Resolves to whether any counter
   * got a seed: what was read from the store before is then outdated. Rejects as `unavailable`.
   */
  seedIfNeeded(head: { revision: string | null }, state: IdState): Promise<boolean>;
  /** Likewise if a head, which is to be applied now, is of a history that the store has not followed. */
  followHead(head: { revision: string | null }, state: IdState): Promise<boolean>;
  /**
   * Registers the first commit of a branch, which this process makes: no commit that descends from it was served before.
   * `revision` never rejects, and resolves to null if no commit is made.
   */
  addFirstCommit(revision: Promise<string | null>): void;
  /** Returns what the last seeding did, and null from then on until the next one. */
  takeSeeding(): Seeding | null;
  /** Schedules a write: ids, or the applied revision, may have changed. */
  scheduleWrite(): void;
  /** Writes what is not written yet. Resolves when it has succeeded or failed; never rejects. */
  flush(): Promise<void>;
  status(): RecordStatus;
  /** Writes what is not written yet, and then stops. */
  close(): Promise<void>;
}

export function createKeeper(dependencies: KeeperDependencies): Keeper {
  const { faults, emit } = dependencies;
  const recording = createRecording(dependencies);
  let unreported: Seeding | null = null;
  const start = createStart({ ...dependencies, onTaken: recording.take });

  const seed = async (
    { revision }: { revision: string | null },
    state: IdState,
    isFollowed: boolean,
  ): Promise<boolean> => {
    const seeding = await start.seed(revision, state, isFollowed);
    if (seeding === null) return false;
    unreported = seeding;
    emit('seeded', { isServed: state.applied !== null });
    faults.pass('seed-done');
    return true;
  };

  return {
    scheduleWrite: recording.scheduleWrite,
    flush: recording.flush,
    status: recording.status,
    close: recording.close,
    addFirstCommit: start.addFirstCommit,
    seedIfNeeded: (head, state) => seed(head, state, false),
    followHead: (head, state) => seed(head, state, true),
    takeSeeding: () => {
      const taken = unreported;
      unreported = null;
      return taken;
    },
  };
}

/** The part of a keeper that writes the record. Only the end of the process and a pass after a seeding wait for it. */
interface Recording extends Pick<Keeper, 'scheduleWrite' | 'flush' | 'status' | 'close'> {
  /** See `RecordUpdate.take`. Reports a version that a manager with another store than that of this fleet made lately. */
  take(version: RecordVersion | null, fleet: string): void;
}

function createRecording(dependencies: KeeperDependencies): Recording {
  const { now, random, emit } = dependencies;
  const timer = createWriteTimer(() => void flight.request());
  let status = NOT_RECORDED;
  let failures = 0;
  let isClosed = false;
  const update = new RecordUpdate({
    ...dependencies,
    onForeign: (fleet) => {
      status = { ...status, otherManager: { fleet, at: now() } };
    },
    onRecorded: (meta, written) => {
      status = withRecorded(status, meta, written, now());
    },
  });

  const attempt = async (): Promise<void> => {
    timer.stop();
    const before = status;
    const failure = await run(update, isClosed ? LAST_RETRIES : 0).then(
      () => null,
      (error: unknown) => ({ error }),
    );
    failures = failure === null ? 0 : failures + 1;
    status = withOutcome(status, failure, now());
    const delay = failure === null || isClosed ? null : delayAfter(failure.error, failures, random());
    if (delay !== null) timer.retryAfter(delay);
    if (isReportable(before, status)) emit('recordStatus', { status, error: failure?.error });
  };
  const flight = createSingleFlight(attempt);

  return {
    status: () => statusAt(status, now()),
    scheduleWrite: () => {
      if (!isClosed) timer.touch();
    },
    flush: () => flight.request(),
    take: (version, fleet) => {
      const { tip = null, writer = '', at = 0 } = version ?? {};
      update.take(tip);
      if (writer === '' || writer === fleet || !isRecent(at, now())) return;
      status = { ...status, otherManager: { fleet: writer, at } };
      emit('recordStatus', { status, error: undefined });
    },
    close: async () => {
      isClosed = true;
      await flight.request();
      timer.stop();
    },
  };
}

/**
 * Updates the record, with up to so many retries. They are for the last update before the process ends: a terminal and
 * systemd send their signal to all processes of a group, so the git processes can end at the same moment as the manager.
 * A retry starts new ones.
 */
async function run(update: RecordUpdate, retries: number): Promise<void> {
  for (let tries = 0; tries < retries; tries++) {
    try {
      return await update.run();
    } catch (error) {
      if (kindOf(error) !== 'unavailable' || isShutdownError(error)) throw error;
      await wait(LAST_RETRY_DELAY);
    }
  }
  return update.run();
}

/** A refusal, which lasts until somebody changes something, is tried again only with the next change. */
function delayAfter(error: unknown, failures: number, random: number): number | null {
  return retryDelay(kindOf(error) === 'conflict' ? 'refused' : 'unavailable', failures, random);
}
