import { setImmediate } from 'node:timers/promises';
import { Queue } from '../async/queue.ts';
import { closedError } from '../errors.ts';
import { type Connections, closeConnections } from './connection.ts';
import { storeError } from './errors.ts';
import type { CheckFiles } from './open-files.ts';
import {
  inAsyncTransaction,
  inLargeTransaction,
  inSnapshot,
  inTransaction,
  type Level,
  withLogSynced,
} from './transaction.ts';

/** From this many changes on, the extra cost of a large transaction is less than the time that `COMMIT` would block. */
const LARGE_CHANGE = 500;

/** What a session is made of. */
export interface SessionParts {
  connections: Connections;
  /** Called at the beginning of each transaction. */
  checkFiles: CheckFiles;
  countTransaction(): void;
}

/**
 * The one way to the file of a store. Writes run one after another. Reads use their own connection and see the last
 * committed state, also during a long write. Every call rejects with a `HoldfastError`; as `unavailable` once the session
 * has ended.
 */
export class Session {
  readonly #connections: Connections;
  readonly #checkFiles: CheckFiles;
  readonly #countTransaction: () => void;
  readonly #queue = new Queue();
  #isOver = false;

  constructor({ connections, checkFiles, countTransaction }: SessionParts) {
    this.#connections = connections;
    this.#checkFiles = checkFiles;
    this.#countTransaction = countTransaction;
  }

  /** Throws `unavailable` if the files are gone. */
  checkFiles(): void {
    this.#checkFiles();
  }

  /** Runs `call`, and translates errors of SQLite. */
  async run<T>(call: () => T | Promise<T>): Promise<T> {
    if (this.#isOver) throw closedError();
    try {
      return await call();
    } catch (error) {
      throw storeError(error);
    }
  }

  /** Runs reads on one snapshot. */
  read<T>(read: () => T): Promise<T> {
    return this.run(() => inSnapshot(this.#connections.reader, read));
  }

  write<T>(work: () => T, level?: Level): Promise<T> {
    const { writer } = this.#connections;
    return this.run(() => this.#queue.run(() => inTransaction(writer, this.#counted(work), level)));
  }

  /** `write` for work that yields to other work. */
  writeAsync<T>(work: () => Promise<T>, level?: Level): Promise<T> {
    const { writer } = this.#connections;
    return this.run(() => this.#queue.run(() => inAsyncTransaction(writer, this.#counted(work), level)));
  }

  /** `writeAsync` for so many changes; many are always synced. */
  writeMany<T>(changes: number, work: () => Promise<T>, level?: Level): Promise<T> {
    if (changes < LARGE_CHANGE) return this.writeAsync(work, level);
    const { writer } = this.#connections;
    return this.run(() => this.#queue.run(() => inLargeTransaction(writer, this.#counted(work))));
  }

  /**
   * Writes in a later turn of the event loop, and syncs the log in another thread. Works until `close`, and does not
   * translate errors.
   */
  async writeLater(work: () => Promise<void>): Promise<void> {
    this.#checkFiles();
    const { writer } = this.#connections;
    const write = this.#counted(work);
    await withLogSynced(writer, () =>
      this.#queue.run(() => setImmediate().then(() => inAsyncTransaction(writer, write, 'NORMAL'))),
    );
  }

  /** Refuses every later call. */
  end(): void {
    this.#isOver = true;
  }

  /** Waits for the writes that are under way, and closes the connections. */
  async close(): Promise<void> {
    this.end();
    await this.#queue.run(async () => closeConnections(this.#connections));
  }

  /** Each transaction checks that the files are still in place, and is counted for `checkLog`. */
  #counted<T>(work: () => T): () => T {
    return () => {
      this.#checkFiles();
      this.#countTransaction();
      return work();
    };
  }
}
