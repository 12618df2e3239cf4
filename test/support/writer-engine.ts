import { createRollbacks, type Rollbacks } from '../../src/change/rollback.ts';
import type { Write, Writer, WriterDependencies } from '../../src/change/write.ts';
import { createWriter } from '../../src/change/writer.ts';
import { HoldfastError } from '../../src/errors.ts';
import { NO_FAULTS } from '../../src/faults.ts';
import type { Reconciler } from '../../src/reconcile/reconciler.ts';
import type { Publisher, Reader } from '../../src/source/source.ts';
import type { Store } from '../../src/store/objects/port.ts';
import { buildEngine, type Engine, type EngineOptions, wrap } from './engine.ts';
import { DEFAULTS } from './fleet.ts';

/** Milliseconds that a write waits in the queue, for a pass before it is drafted, and for the pass that applies it. */
export const WAIT_LIMIT = 60_000;
/** A request of a user, as the writer needs it. */
export const CONTEXT = { user: 'pat', email: 'pat@example.com', requestId: 'r', ifMatch: null };
/** The file of the app `web`, below `desired-state/`. */
export const WEB = 'apps/web.yaml';
const FILES = { [WEB]: 'container_image: web:1\n', 'apps/cron.yaml': 'container_image: cron:1\n' };

/** An engine with a writer, and with rollbacks that it carries out. */
export interface WriterEngine extends Engine {
  writer: Writer;
  rollbacks: Rollbacks;
  /** The number of drafts of each call of `publish` so far. */
  published: number[];
}

/** What happens while the writer works: hooks around `publish`, and methods that replace those of its dependencies. */
export interface WriterEngineOptions extends EngineOptions {
  /** Runs before every publish. */
  beforePublish?: (engine: Engine) => Promise<unknown>;
  /** Runs after every publish. */
  afterPublish?: (engine: Engine) => Promise<unknown>;
  reconciler?: (engine: Engine) => Partial<Reconciler>;
  reader?: (engine: Engine) => Partial<Reader>;
  store?: (engine: Engine) => Partial<Store>;
}

/**
 * Builds an engine with a writer and the apps `web` and `cron`, and applies them. It is closed when the test is over.
 */
export async function buildWriterEngine(options: WriterEngineOptions = {}): Promise<WriterEngine> {
  const engine = await buildEngine({ files: FILES, ...options });
  const { source, store, reconciler } = engine;
  await reconciler.reconcile();
  const published: number[] = [];
  const publish: Publisher['publish'] = async (base, drafts) => {
    published.push(drafts.length);
    await options.beforePublish?.(engine);
    const revisions = await source.publisher.publish(base, drafts);
    await options.afterPublish?.(engine);
    return revisions;
  };
  const dependencies: WriterDependencies = {
    waitLimit: WAIT_LIMIT,
    reconciler: wrap(reconciler, options.reconciler?.(engine) ?? {}),
    reader: wrap(source.reader, options.reader?.(engine) ?? {}),
    origin: null,
    publisher: wrap(source.publisher, { publish }),
    store: wrap(store, options.store?.(engine) ?? {}),
    defaults: DEFAULTS,
    folder: 'desired-state',
    strict: false,
    now: Date.now,
    faults: NO_FAULTS,
  };
  const writer = createWriter(dependencies);
  return {
    ...engine,
    writer,
    rollbacks: createRollbacks(writer, dependencies),
    published,
  };
}

/** A write that sets the image of an app to `name:tag`. */
export function setImage(name: string, tag: string): Write {
  return { kind: 'app', op: 'change', name, fields: { container_image: `${name}:${tag}` } };
}

/** Resolves to the `HoldfastError` of a promise that must reject with one. */
export function failure(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => Promise.reject(new Error('it was not refused')),
    (error: unknown) => (error instanceof HoldfastError ? error : Promise.reject(error)),
  );
}
