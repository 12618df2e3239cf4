import { setTimeout as wait } from 'node:timers/promises';
import type { Logger } from 'pino';
import { createRollbacks, type Rollbacks } from '../change/rollback.ts';
import type { Writer, WriterDependencies } from '../change/write.ts';
import { createWriter } from '../change/writer.ts';
import { factsOfFailure, messageOf } from '../errors.ts';
import { createHub, type Emit, type Hub } from '../events/hub.ts';
import type { Faults } from '../faults.ts';
import type { Fleet } from '../fleet/fleet.ts';
import { webAddressOf } from '../history/message.ts';
import { createInfoCache, type InfoCache } from '../http/info/cache.ts';
import { createDeviceInfos, type DeviceInfos } from '../http/info/devices.ts';
import { renderInfo } from '../http/info/render.ts';
import { createKeeper, type IdEvents, type Keeper } from '../ids/keeper/keeper.ts';
import { createFailureLog } from '../log/failure-log.ts';
import type { Clock } from '../process/clock.ts';
import type { AppDefaults } from '../protocol/app.ts';
import { type BranchPlans, createBranchPlans } from '../reconcile/branch-plan.ts';
import type { ReconcileEvents } from '../reconcile/events.ts';
import { createFollower, type Follower } from '../reconcile/follower.ts';
import type { HistoryDependencies } from '../reconcile/history/dependencies.ts';
import { createIndexer, type Indexer } from '../reconcile/history/indexer.ts';
import { createPast, type Past } from '../reconcile/history/past.ts';
import type { OnProgress } from '../reconcile/pass/dependencies.ts';
import type { PassOutcome } from '../reconcile/pass/pass.ts';
import { createReconciler, type Reconciler } from '../reconcile/reconciler.ts';
import type { Config } from '../settings/table.ts';
import type { Source } from '../source/source.ts';
import type { HistoryStore } from '../store/history/port.ts';
import type { SharedStore, Store } from '../store/objects/port.ts';
import type { ServiceMetrics } from './observability/metrics.ts';
import { createPassLog } from './observability/pass-log.ts';
import { createRecordLog } from './observability/record-log.ts';
import type { OpenedStore } from './open/store.ts';

/** Milliseconds that a poll waits for the store before it is answered with the last good reply, if there is one. */
const STORE_TIMEOUT = 1000;

/** What can happen in a manager. */
type ServiceEvents = ReconcileEvents & IdEvents;

/** What `buildEngine` needs. */
export interface EngineParts {
  source: Source;
  store: Store;
  shared: SharedStore | null;
  history: HistoryStore;
  idReader: OpenedStore['idReader'];
  defaults: AppDefaults;
  logger: Logger;
  metrics: ServiceMetrics;
  faults: Faults;
  clock: Clock;
  onProgress: OnProgress;
  fleet: Pick<Fleet, 'servedChanged'>;
}

/**
 * The parts that change the state: passes, writes, the record of ids; and the cache of replies that they invalidate.
 */
export interface Engine {
  events: Hub<ServiceEvents>;
  reconciler: Reconciler;
  keeper: Keeper;
  indexer: Indexer;
  past: Past;
  writer: Writer;
  rollbacks: Rollbacks;
  branchPlans: BranchPlans;
  info: InfoCache;
  deviceInfos: DeviceInfos;
  /** Milliseconds that a write, or a request to reconcile, waits for its pass. */
  waitLimit: number;
}

/** Builds these parts and wires them together; starts nothing. */
export function buildEngine(config: Config, parts: EngineParts): Engine {
  const { logger, clock } = parts;
  const { now } = clock;
  const events = createHub<ServiceEvents>((error, event) =>
    logger.error({ ...factsOfFailure(error), event }, 'a listener failed'),
  );
  const { emit } = events;
  const keeper = openKeeper(parts, emit);
  const follower = openFollower(config, parts, emit);
  const info = openInfoCache(config, parts, follower);
  const deviceInfos = createDeviceInfos({ store: parts.store, info, storeTimeout });
  const { indexer, past } = buildHistory(parts, () => reconciler.passes.memory());
  addListeners(events, { info, deviceInfos, follower, keeper, indexer }, parts);
  const reconciler = createReconciler({
    ...parts,
    follower,
    strict: config.STRICT,
    pollInterval: config.GIT_POLL_INTERVAL * 1000,
    now,
    random: Math.random,
    emit,
    keeper,
  });
  return {
    events,
    reconciler,
    keeper,
    indexer,
    past,
    info,
    deviceInfos,
    ...buildWriting(config, parts, reconciler),
  };
}

/** Builds what changes the branch, or says what would change. */
function buildWriting(
  config: Config,
  { source, store, defaults, faults, clock }: EngineParts,
  reconciler: Reconciler,
): Pick<Engine, 'writer' | 'rollbacks' | 'branchPlans' | 'waitLimit'> {
  const { reader, publisher, record, origin } = source;
  // In milliseconds; twice the limit, for a fetch and a push.
  const waitLimit = 2 * config.GIT_TIMEOUT * 1000;
  const writing: WriterDependencies = {
    reconciler,
    reader,
    origin,
    publisher,
    store,
    defaults,
    folder: record.folder,
    strict: config.STRICT,
    now: clock.now,
    faults,
    waitLimit,
  };
  const writer = createWriter(writing);
  const rollbacks = createRollbacks(writer, writing);
  const branchPlans = createBranchPlans({ source, reconciler, defaults, maxTime: waitLimit });
  return { writer, rollbacks, branchPlans, waitLimit };
}

/** Who listens to what. Listeners are called in this order. */
function addListeners(
  { on }: Hub<ServiceEvents>,
  {
    info,
    deviceInfos,
    follower,
    keeper,
    indexer,
  }: Pick<Engine, 'info' | 'deviceInfos' | 'keeper' | 'indexer'> & { follower: Follower },
  { metrics, fleet, logger, clock: { now } }: EngineParts,
): void {
  const logPass = createPassLog(logger, now);
  const logRecord = createRecordLog(logger, now);

  on('changed', ({ keys }) => info.invalidate(keys));
  on('changed', ({ keys }) => deviceInfos.invalidate(keys));
  on('changed', () => fleet.servedChanged());
  on('changed', () => keeper.scheduleWrite());

  on('seeded', () => info.invalidate(null));
  on('seeded', () => deviceInfos.invalidate(null));
  on('seeded', () => fleet.servedChanged());
  // Ids that no device has seen yet are recorded at the end of the pass: a record of a large fleet takes long.
  on('seeded', ({ isServed }) => isServed && keeper.scheduleWrite());

  on('watchFailed', ({ error }) =>
    logger.warn(
      { reason: messageOf(error) },
      'the clone cannot be watched; new commits are found by polling alone, every GIT_POLL_INTERVAL seconds',
    ),
  );

  on('passed', () => follower.expire());
  on('passed', () => fleet.servedChanged());
  on('passed', ({ outcome, status }) => logPass(outcome, status));
  on('passed', ({ outcome, status }) => metrics.countPass(outcome, status));
  on('passed', ({ outcome }) => indexAfter(indexer, outcome));
  on('passed', () => keeper.scheduleWrite());

  on('recordStatus', ({ status, error }) => logRecord(status, error));
  on('recordStatus', ({ status }) => metrics.setRecordStatus(status));
}

const HISTORY_LOG = {
  failing: 'the history could not be indexed further; the next pass tries again',
  working: 'the history is indexed again',
};

function buildHistory(
  {
    source: { reader, record, origin, remote },
    store,
    history,
    defaults,
    logger,
    faults,
    clock,
  }: EngineParts,
  memory: HistoryDependencies['memory'],
): Pick<Engine, 'indexer' | 'past'> {
  const log = createFailureLog(logger, clock.now, HISTORY_LOG, 'warn');
  const forge = webAddressOf(remote);
  const { folder } = record;
  const indexer = createIndexer({
    reader,
    store: history,
    progress: store,
    defaults,
    folder,
    forge,
    memory,
    onFailure: log.failed,
    onRecovered: log.succeeded,
    faults,
    now: clock.now,
  });
  return { indexer, past: createPast({ reader, origin, store: history, indexer, defaults, folder }) };
}

function openKeeper(
  { source: { reader, record }, store, idReader, faults, clock: { now } }: EngineParts,
  emit: Emit<IdEvents>,
): Keeper {
  return createKeeper({
    reader,
    record,
    store,
    counters: idReader,
    now,
    random: Math.random,
    faults,
    emit,
  });
}

/** A store that no other process changes is read again only after this one has changed it. */
function openFollower({ CACHE_TIME }: Config, parts: EngineParts, emit: Emit<ReconcileEvents>): Follower {
  const { store, shared, clock } = parts;
  const lifetime = shared === null && CACHE_TIME > 0 ? Number.POSITIVE_INFINITY : CACHE_TIME * 1000;
  return createFollower({ store, shared, lifetime, elapsed: clock.elapsed, emit });
}

function storeTimeout(): Promise<void> {
  return wait(STORE_TIMEOUT, undefined, { ref: false });
}

function openInfoCache({ CACHE_TIME }: Config, { store }: EngineParts, follower: Follower): InfoCache {
  return createInfoCache({
    store,
    follower,
    render: renderInfo,
    isOff: CACHE_TIME === 0,
    storeTimeout,
  });
}

/** Has the history indexed, without waiting for it. */
function indexAfter(indexer: Indexer, outcome: PassOutcome): void {
  if (outcome.ok) void indexer.catchUp();
  else if (outcome.error.kind === 'refused' && outcome.head?.revision != null)
    void indexer.addRefusal(outcome.head.revision);
}
