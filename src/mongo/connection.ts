import {
  type Db,
  type DbOptions,
  MongoClient,
  type MongoClientOptions,
  ReadConcern,
  type TopologyDescription,
} from 'mongodb';
import { closedError, HoldfastError } from '../errors.ts';
import { isNoServer, openError, storeError } from './errors.ts';
import { describeServer, type ServerInfo } from './server-info.ts';

export interface ConnectionOptions {
  uri: string;
  database: string;
  /** Creates what is missing in the database; rejects as `invalid` if the database must not be used. */
  prepare(db: Db): Promise<void>;
  /** Called each time the database has been reached and prepared. */
  onServer(info: ServerInfo): void;
  /** Milliseconds without a server, after which a new client looks for one; by default ten seconds. */
  renewAfter?: number;
  /** Once it is aborted, no call waits for the database: calls in progress reject as `unavailable`. */
  signal?: AbortSignal | undefined;
}

/**
 * Limits of the driver, so that nothing hangs. A call that finds no primary fails after 5 s: a planned step-down is
 * over by then, and a device that polls still waits. A write that a majority does not confirm within 10 s has an
 * unknown outcome. A silent connection is dropped after 20 s, which is longer than a healthy server ever needs. Servers
 * are checked every second.
 */
const LIMITS: MongoClientOptions = {
  appName: 'holdfast',
  serverSelectionTimeoutMS: 5000,
  connectTimeoutMS: 5000,
  socketTimeoutMS: 20_000,
  waitQueueTimeoutMS: 5000,
  heartbeatFrequencyMS: 1000,
  maxPoolSize: 20,
  // Otherwise a URI could demand more connections than the maximum, and every call would fail.
  minPoolSize: 0,
};

/** Set here, so that the URI cannot weaken it: an acknowledged write survives the loss of a minority of the members. */
const SAFETY: DbOptions = {
  readPreference: 'primary',
  readConcern: new ReadConcern('majority'),
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
};

/** Milliseconds between two attempts to open a database that was never reached. */
const RETRY_AFTER = 1000;

/**
 * Milliseconds without a server, after which a new client looks for one as well: when all connections break at once,
 * the driver's monitor can wait forever for an answer (seen with 7.8.0 on a busy machine).
 */
const RENEW_AFTER = 10_000;

const WRITABLE_TYPES = new Set<string>(['Standalone', 'RSPrimary', 'Mongos', 'LoadBalancer']);

/** A connected client, and its database, which has been prepared. */
interface Opened {
  client: MongoClient;
  db: Db;
}

/**
 * The connection to a database. The first call that reaches the database prepares it; its servers are monitored from
 * then on.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #opening: Promise<Opened> | null = null;
  #renewal: Promise<void> | null = null;
  /** The client whose view of the servers is used. */
  #monitored: MongoClient | null = null;
  #isClosed = false;
  #hasServer = false;
  /** The error of a call that has found no server; null once there is a server again. */
  #away: HoldfastError | null = null;
  /** When the servers went away, or when a new client was last tried. */
  #awayAt = 0;
  /** The writable servers and their elections; `term` counts how often they change. */
  #writable = '';
  #term = 0;
  /** Rejects each call that waits for the database. */
  readonly #waits = new Set<(error: HoldfastError) => void>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    options.signal?.addEventListener('abort', () => this.#abandon(), { once: true });
  }

  /**
   * A number that changes as soon as commands can go to another server, or to one that was elected again. Elections
   * behind a `mongos` are not visible.
   */
  get term(): number {
    return this.#term;
  }

  /** Connects and prepares the database. Rejects as `invalid` if the database must not be used. */
  async open(): Promise<void> {
    await this.#wait(this.#database());
  }

  /**
   * Runs a command. While no server takes writes, only the first call waits for one and all later calls reject at once,
   * so that replies which can be served from memory are not delayed.
   */
  run<T>(command: (db: Db) => Promise<T>): Promise<T> {
    return this.#wait(this.#run(command));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#wait(this.#closeClients()).catch(() => undefined);
  }

  async #run<T>(command: (db: Db) => Promise<T>): Promise<T> {
    const db = await this.#database().catch(asUnavailable);
    if (this.#away !== null && !this.#hasServer) {
      this.#renewInTime();
      throw this.#away;
    }
    try {
      return await command(db);
    } catch (error) {
      const known = storeError(error);
      if (isNoServer(error)) this.#noteAway(known as HoldfastError);
      throw known;
    }
  }

  /** Settles as `call` does, or rejects at the abort: a process that ends has no time for the driver's own limits. */
  #wait<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#options.signal?.aborted === true) reject(closedError());
      this.#waits.add(reject);
      void call.then(resolve, reject).finally(() => this.#waits.delete(reject));
    });
  }

  #abandon(): void {
    this.#isClosed = true;
    for (const end of this.#waits) end(closedError());
    void this.#closeClients().catch(() => undefined);
  }

  async #closeClients(): Promise<void> {
    await this.#renewal;
    const opened = await this.#opening?.catch(() => null);
    await opened?.client.close();
  }

  async #database(): Promise<Db> {
    if (this.#isClosed) throw closedError();
    this.#opening ??= this.#connect();
    return (await this.#opening).db;
  }

  /** After a failure, calls get the same error for a while before the next attempt. */
  async #connect(): Promise<Opened> {
    try {
      return await this.#openClient();
    } catch (error) {
      setTimeout(() => {
        this.#opening = null;
      }, RETRY_AFTER).unref();
      throw openError(error);
    }
  }

  async #openClient(): Promise<Opened> {
    const client = new MongoClient(this.#options.uri, { ...LIMITS, ...SAFETY });
    let seen: TopologyDescription | null = null;
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      seen = newDescription;
      if (this.#monitored === client) this.#noteServers(newDescription);
    });
    try {
      await client.connect();
      const db = client.db(this.#options.database, SAFETY);
      const info = await describeServer(db);
      await this.#options.prepare(db);
      this.#options.onServer(info);
      this.#monitored = client;
      if (seen !== null) this.#noteServers(seen);
      return { client, db };
    } catch (error) {
      await client.close().catch(() => undefined);
      throw error;
    }
  }

  #noteAway(reason: HoldfastError): void {
    if (this.#away === null) this.#awayAt = performance.now();
    this.#away = reason;
  }

  #renewInTime(): void {
    if (
      this.#renewal !== null ||
      performance.now() - this.#awayAt < (this.#options.renewAfter ?? RENEW_AFTER)
    )
      return;
    this.#renewal = this.#renew().finally(() => {
      this.#awayAt = performance.now();
      this.#renewal = null;
    });
  }

  /** Replaces the old client by a new one, if the new one finds a server. */
  async #renew(): Promise<void> {
    const old = await this.#opening?.catch(() => null);
    const opened = await this.#openClient().catch(() => null);
    if (opened === null) return;
    this.#opening = Promise.resolve(opened);
    // Not awaited: the old client can hang.
    void old?.client.close().catch(() => undefined);
  }

  #noteServers(description: TopologyDescription): void {
    const servers = [...description.servers.values()].filter(({ type }) => WRITABLE_TYPES.has(type));
    this.#hasServer = servers.length > 0;
    if (this.#hasServer) this.#away = null;
    const writable = servers
      .map(({ address, electionId }) => `${address} ${electionId?.toHexString()}`)
      .join();
    if (writable !== this.#writable) this.#term += 1;
    this.#writable = writable;
  }
}

/** Once the manager runs, a database that must not be used counts as one that cannot be reached. */
function asUnavailable(error: unknown): never {
  if (!(error instanceof HoldfastError) || error.kind !== 'invalid') throw error;
  throw new HoldfastError('unavailable', error.message, {}, error);
}
