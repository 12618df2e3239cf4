import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createRollbacks, type Rollbacks } from '../change/rollback.ts';
import type { Writer, WriterDependencies } from '../change/write.ts';
import { createWriter } from '../change/writer.ts';
import type { Faults } from '../faults.ts';
import { webAddressOf } from '../history/message.ts';
import { createInfoCache, type InfoCache } from '../http/info/cache.ts';
import { renderInfo } from '../http/info/render.ts';
import { createRecorder, type Recorder, type RecorderDependencies } from '../ids/record/recorder.ts';
import type { Clock } from '../process/clock.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { type BranchPlans, createBranchPlans } from '../reconcile/branch-plan.ts';
import type { HistoryDependencies } from '../reconcile/history/dependencies.ts';
import { createPast, type Past } from '../reconcile/history/past.ts';
import { createTeller, type Teller } from '../reconcile/history/teller.ts';
import type { OnProgress } from '../reconcile/pass/dependencies.ts';
import type { PassOutcome } from '../reconcile/pass/pass.ts';
import { createReconciler, type Reconciler, type ReconcilerDependencies } from '../reconcile/reconciler.ts';
import type { Config } from '../settings.ts';
import type { Source } from '../source/source.ts';
import type { PollLease } from '../store/poll-lease.ts';
import type { Store } from '../store/store.ts';
import { createHistoryLog } from './observability/history-log.ts';
import type { ServiceMetrics } from './observability/metrics.ts';
import { createPassLog } from './observability/pass-log.ts';
import { createRecordLog } from './observability/record-log.ts';
import type { OpenedStore } from './open/store.ts';

/** Milliseconds that a poll waits for the store before it is answered with the last good reply, if there is one. */
const STORE_TIMEOUT = 1000;

/** What `buildEngine` needs. */
export interface EngineParts {
  source: Source;
  store: Store;
  idReader: OpenedStore['idReader'];
  lease: PollLease | null;
  defaults: AppDefaults;
  logger: Logger;
  metrics: ServiceMetrics;
  faults: Faults;
  clock: Clock;
  onProgress: OnProgress;
}

/**
 * The parts that change the state: passes, writes, the record of ids; and the cache of replies that they invalidate.
 */
export interface Engine {
  reconciler: Reconciler;
  recorder: Recorder;
  teller: Teller;
  past: Past;
  writer: Writer;
  rollbacks: Rollbacks;
  branchPlans: BranchPlans;
  info: InfoCache;
  /** Milliseconds that a write, or a request to reconcile, waits for its pass. */
  waitLimit: number;
}

/** Builds these parts and wires them together; starts nothing. */
export function buildEngine(config: Config, parts: EngineParts): Engine {
  const { source, store, idReader, lease, defaults, logger, metrics, faults, clock, onProgress } = parts;
  const { reader, publisher, record } = source;
  const { now } = clock;
  const onStatus = recordListener(metrics, logger, now);
  const recorder = createRecorder({ record, store: idReader, reader, now, random: Math.random, onStatus });
  const cache = openInfoCache(config, parts);
  const info = recordedInfo(recorder, cache);
  const { teller, past } = buildHistory(config, parts, () => reconciler.passes.memory());
  const reconciler = createReconciler({
    source,
    store,
    lease,
    defaults,
    strict: config.STRICT,
    pollInterval: config.GIT_POLL_INTERVAL * 1000,
    now,
    random: Math.random,
    faults,
    onProgress,
    onApplied: (keys) => info.invalidate(keys),
    // Ids that no device has seen yet are recorded at the end of the pass: a record of a large fleet takes long.
    onSeeded: (isServed) => (isServed ? info : cache).invalidate(null),
    onPass: passListener(recorder, teller, metrics, createPassLog(logger, now)),
  });
  // In milliseconds; twice the limit, for a fetch and a push.
  const waitLimit = 2 * config.GIT_TIMEOUT * 1000;
  const writing: WriterDependencies = {
    reconciler,
    reader,
    publisher,
    store,
    defaults,
    folder: record.folder,
    strict: config.STRICT,
    now,
    faults,
    waitLimit,
  };
  const writer = createWriter(writing);
  const rollbacks = createRollbacks(writer, writing);
  const branchPlans = createBranchPlans({ source, reconciler, defaults });
  return { reconciler, recorder, teller, past, writer, rollbacks, branchPlans, info, waitLimit };
}

function buildHistory(
  { GIT_REMOTE }: Config,
  { source: { reader, record }, store, defaults, logger }: EngineParts,
  memory: HistoryDependencies['memory'],
): Pick<Engine, 'teller' | 'past'> {
  const onFailure = createHistoryLog(logger);
  const forge = webAddressOf(GIT_REMOTE);
  const teller = createTeller({ reader, store, defaults, forge, memory, onFailure });
  return { teller, past: createPast({ reader, store, teller, defaults, folder: record.folder }) };
}

function recordListener(
  metrics: ServiceMetrics,
  logger: Logger,
  now: () => number,
): RecorderDependencies['onStatus'] {
  const log = createRecordLog(logger, now);
  return (status, error) => {
    log(status, error);
    metrics.setRecordStatus(status);
  };
}

function openInfoCache({ CACHE_TIME }: Config, { store, clock }: EngineParts): InfoCache {
  return createInfoCache({
    store,
    render: renderInfo,
    lifetime: CACHE_TIME * 1000,
    elapsed: clock.elapsed,
    storeTimeout: () => wait(STORE_TIMEOUT, undefined, { ref: false }),
  });
}

/** Has ids recorded whenever the cache of replies is invalidated: what devices see has changed. */
function recordedInfo(recorder: Recorder, cache: InfoCache): InfoCache {
  return {
    ...cache,
    invalidate: (keys) => {
      cache.invalidate(keys);
      recorder.scheduleWrite();
    },
  };
}

/** Has the history told, without waiting for it. */
function tell(teller: Teller, outcome: PassOutcome): void {
  if (outcome.ok) void teller.catchUp();
  else if (outcome.error.kind === 'refused' && outcome.head?.revision != null)
    void teller.refused(outcome.head.revision);
}

/**
 * Logs and counts each pass, has the history told, and ids recorded. After a seeding it waits for an attempt to record them: if the
 * store were lost again before that, the next one would find only the older record.
 */
function passListener(
  recorder: Recorder,
  teller: Teller,
  metrics: ServiceMetrics,
  log: ReturnType<typeof createPassLog>,
): ReconcilerDependencies['onPass'] {
  return async (outcome, status) => {
    await log(outcome, status);
    metrics.countPass(outcome, status);
    tell(teller, outcome);
    if (!outcome.ok) return recorder.scheduleWrite();
    const { seeding, recordVersion } = outcome.report;
    if (recordVersion !== null) recorder.allowReplacing(recordVersion);
    if (seeding === null) return recorder.scheduleWrite();
    await recorder.flush();
  };
}
