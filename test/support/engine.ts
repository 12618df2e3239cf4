import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { createHub, type Emit, type Hub } from '../../src/events/hub.ts';
import { NO_FAULTS } from '../../src/faults.ts';
import { createKeeper, type IdEvents, type Keeper } from '../../src/ids/keeper/keeper.ts';
import type { ReconcileEvents } from '../../src/reconcile/events.ts';
import { createFollower } from '../../src/reconcile/follower.ts';
import {
  createReconciler,
  type Reconciler,
  type ReconcilerDependencies,
} from '../../src/reconcile/reconciler.ts';
import { openClone } from '../../src/source/git/clone/clone.ts';
import type { Source, SourceOrigin } from '../../src/source/source.ts';
import type { SharedStore, Store } from '../../src/store/objects/port.ts';
import { openSqliteStore } from '../../src/store/open/sqlite.ts';
import type { ReadDisk } from '../../src/store/space.ts';
import { type FlatStore, flat } from './flat-store.ts';
import { DEFAULTS } from './fleet.ts';
import { inDesiredState, temporaryFolder } from './folder.ts';
import { type TestRepository, testRepository } from './git.ts';

/** A reconciler on a real repository and a real store, without a server. */
export interface Engine {
  repository: TestRepository;
  source: Source;
  /** The store itself, without what `wrapStore` puts around it for the reconciler. */
  store: FlatStore;
  reconciler: Reconciler;
  events: Hub<ReconcileEvents & IdEvents>;
  /** Every pass so far. */
  passes: ReconcileEvents['passed'][];
  /** Commits files with paths below `desired-state/` (null deletes one); resolves to the commit. */
  commit(files: Readonly<Record<string, string | null>>, message?: string): Promise<string>;
}

export interface EngineOptions {
  /** Files of a first commit, with paths below `desired-state/`. */
  files?: Readonly<Record<string, string>>;
  /** Dependencies of the reconciler that differ from those of {@link testReconciler}. */
  settings?: Partial<Omit<ReconcilerDependencies, 'source' | 'store'>>;
  /** Returns what the reconciler gets in place of the store, such as a {@link wrap} with faults and waits. */
  wrapStore?: (store: Store) => Store;
  /** How full the disk of the store is; what the file system says by default. */
  readDisk?: ReadDisk;
  /** The origin that a pass fetches first; none by default. */
  origin?: SourceOrigin;
}

/** Builds an engine without running a pass. It is closed when the test is over. */
export async function buildEngine(options: EngineOptions = {}): Promise<Engine> {
  const repository = await testRepository();
  const commit: Engine['commit'] = (files, message) => repository.commit(inDesiredState(files), message);
  if (options.files !== undefined) await commit(options.files, 'the first fleet');
  const machine = { env: { PATH: process.env['PATH'] }, timeLimit: 30_000 };
  const folder = join(repository.folder, 'desired-state');
  const source = await openClone({ folder, branch: null, machine, dataFolder: await temporaryFolder() });
  const path = join(await temporaryFolder(), 'store.sqlite');
  const store = flat(
    await openSqliteStore({
      path,
      defaults: DEFAULTS,
      random: randomBytes,
      ...(options.readDisk && { readDisk: options.readDisk }),
    }),
  );
  const passes: Engine['passes'] = [];
  const events = testEvents();
  events.on('passed', (pass) => passes.push(pass));
  const parts = {
    source: { ...source, origin: options.origin ?? null },
    store: options.wrapStore?.(store) ?? store,
    emit: events.emit,
    ...options.settings,
  };
  const reconciler = testReconciler({ keeper: testKeeper(parts, events.emit), ...parts });
  onTestFinished(async () => {
    await reconciler.close();
    await source.close();
    await store.close();
  });
  return { repository, source, store, reconciler, events, passes, commit };
}

/** A hub whose failing listeners fail the test. */
export function testEvents(): Hub<ReconcileEvents & IdEvents> {
  return createHub((error) => {
    throw error;
  });
}

type ReconcilerParts = Partial<ReconcilerDependencies> &
  Pick<ReconcilerDependencies, 'source' | 'store'> & { shared?: SharedStore | null };

/** A reconciler without polling, with the shortest delays and without listeners, except for these settings. */
export function testReconciler(settings: ReconcilerParts): Reconciler {
  const { store, shared = null, emit = () => undefined } = settings;
  return createReconciler({
    follower: createFollower({ store, shared, lifetime: 0, elapsed: () => 0, emit }),
    defaults: DEFAULTS,
    strict: false,
    pollInterval: 0,
    now: Date.now,
    random: () => 0,
    faults: NO_FAULTS,
    onProgress: () => undefined,
    emit: () => undefined,
    keeper: testKeeper(settings),
    ...settings,
  });
}

/** A keeper, which records no ids by itself. */
function testKeeper(
  { source: { record, reader }, store, now = Date.now, faults = NO_FAULTS }: ReconcilerParts,
  emit: Emit<IdEvents> = () => undefined,
): Keeper {
  const keeper = createKeeper({ record, reader, store, counters: store, now, random: () => 0, faults, emit });
  return { ...keeper, flush: async () => undefined };
}

/** A proxy of `target` with some of its methods replaced, for faults and waits. */
export function wrap<T extends object>(target: T, methods: Partial<T>): T {
  return new Proxy(target, {
    get: (_, name) => {
      const replaced = methods[name as keyof T];
      if (replaced !== undefined) return replaced;
      const value = target[name as keyof T];
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
