import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type Database, prepare, type Statement } from './connection.ts';
import type { CheckFiles } from './open-files.ts';

/** A log of 16 MiB. Pages that change often, such as those of indexes, are copied into the file once for many changes. */
const MAX_PAGES = 4000;
/** By so many pages the log grows until a checkpoint that another process or the disk prevented is tried again. */
const RETRY_PAGES = 1000;

export interface CheckpointerOptions {
  /** The path of the database's file. */
  path: string;
  /** The connection that makes all changes. It must leave checkpoints to the checkpointer. */
  writer: Database;
  checkFiles: CheckFiles;
  startThread: (path: string) => Worker;
  /** Milliseconds after which an unused thread ends, since it takes 10 MB of memory. */
  idleTime: number;
}

/** The sizes of the log and of the part that is in the file, in pages. */
interface LogPages {
  log: number;
  checkpointed: number;
}

/** Starts the thread that makes checkpoints of the file at `path`. */
export function startCheckpointThread(path: string): Worker {
  const code = new URL('./checkpoint-thread.js', import.meta.url);
  return new Worker(code, { workerData: path, env: {}, execArgv: [] });
}

/** A thread, and a signal that is aborted when it has ended, for whatever reason. */
interface Thread {
  worker: Worker;
  over: AbortSignal;
}

/**
 * Copies the write-ahead log into the file, in a thread: that takes 30 ms and more, for which polls would wait
 * (docs/decisions/0020-checkpoints-in-a-thread.md).
 */
export class Checkpointer {
  readonly #options: CheckpointerOptions;
  readonly #pages: Statement<LogPages>;
  /** The size of the log, in pages, after a checkpoint that left much of it to be copied; null after all others. */
  #tried: number | null = null;
  #thread: Thread | null = null;
  /** Resolves when the last thread has ended. */
  #ended: Promise<unknown> = Promise.resolve();
  #idle: NodeJS.Timeout | undefined;

  constructor(options: CheckpointerOptions) {
    this.#options = options;
    this.#pages = prepare(options.writer, 'PRAGMA wal_checkpoint(NOOP)');
  }

  /** Whether the log has become so large that `run` would copy it. Must not be called during a transaction. */
  isDue(): boolean {
    const { log, isLarge } = this.#measure();
    return isLarge && (this.#tried === null || log < this.#tried || log >= this.#tried + RETRY_PAGES);
  }

  /**
   * Copies the log if that is due, as far as readers allow; a later call copies the rest. No transaction may begin
   * meanwhile: otherwise the log would never be copied whole, and could not begin anew. Never rejects, since nothing is
   * lost if it fails.
   */
  async run(): Promise<void> {
    if (!this.isDue()) return;
    clearTimeout(this.#idle);
    try {
      await this.#runInThread();
    } catch {
      // For example, there is no memory for a thread.
      void this.close();
      copyLog(this.#options.writer);
    }
    const { log, isLarge } = this.#measure();
    this.#tried = isLarge ? log : null;
    this.#idle = setTimeout(() => void this.close(), this.#options.idleTime).unref();
  }

  /** Ends the thread. Resolves when it has closed its connection. Must not be called during `run`. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    // The process must not end before the thread does.
    this.#thread?.worker.ref();
    this.#thread?.worker.postMessage('close');
    this.#thread = null;
    await this.#ended;
  }

  async #runInThread(): Promise<void> {
    const { checkFiles } = this.#options;
    checkFiles();
    const { worker, over } = this.#thread ?? (await this.#start());
    // The files could have been replaced before the thread opened them.
    checkFiles();
    worker.ref();
    worker.postMessage('checkpoint');
    await once(worker, 'message', { signal: over });
    worker.unref();
  }

  /** Rejects if the thread ends, by itself or by an error, before it has opened the file. */
  async #start(): Promise<Thread> {
    await this.#ended;
    const worker = this.#options.startThread(this.#options.path);
    const ending = new AbortController();
    const thread = { worker, over: ending.signal };
    this.#thread = thread;
    this.#ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        ending.abort();
        if (this.#thread === thread) this.#thread = null;
        resolve();
      });
    });
    // Without a listener, an error would end the manager.
    worker.on('error', () => undefined);
    await once(worker, 'message', { signal: thread.over });
    return thread;
  }

  #measure(): { log: number; isLarge: boolean } {
    try {
      const { log = 0, checkpointed = 0 } = this.#pages.get() ?? {};
      return { log, isLarge: log - checkpointed >= MAX_PAGES };
    } catch {
      // The disk failed; the next transaction reports it.
      return { log: 0, isLarge: false };
    }
  }
}

function copyLog(db: Database): void {
  try {
    db.exec('PRAGMA wal_checkpoint(PASSIVE)');
  } catch {
    // A later checkpoint tries again.
  }
}
