import {
  type Db,
  type DbOptions,
  MongoClient,
  type MongoClientOptions,
  ReadConcern,
  type TopologyDescription,
} from 'mongodb';
import { HoldfastError } from '../../errors.ts';
import { closedError } from '../closed.ts';
import { type AddressPlace, isNoServer, openError, storeError } from './errors.ts';
import { describeServer, type ServerInfo } from './server-info.ts';

export interface ConnectionOptions {
  uri: string;
  /** Where `uri` was given, for what people are told. */
  place: AddressPlace;
  database: string;
  /** Makes what is missing in the database; rejects as `invalid` where it must not be touched. */
  prepare(db: Db): Promise<void>;
  /** Called each time that the database was reached and prepared. */
  onServer(info: ServerInfo): void;
  /** Milliseconds without a server, after which a new client looks for one; by default ten seconds. */
  renewAfter?: number;
  /** From its abort on nobody waits for the database: calls that are under way reject as `unavailable`. */
  enough?: AbortSignal | undefined;
}

/**
 * Limits of the driver, so that nothing hangs. A call that finds no primary gives up after 5 s: a planned step-down
 * is over by then, and a device's poll is not. A write that a majority does not confirm within 10 s is told
 * as unknown; a silent connection is dropped after 20 s, which is above everything that a healthy server needs.
 * Whether servers are back is asked every second.
 */
const LIMITS: MongoClientOptions = {
  appName: 'holdfast',
  serverSelectionTimeoutMS: 5000,
  connectTimeoutMS: 5000,
  socketTimeoutMS: 20_000,
  waitQueueTimeoutMS: 5000,
  heartbeatFrequencyMS: 1000,
  maxPoolSize: 20,
};

/** Said here, so that nothing in the URI can weaken it: an acknowledged write survives the loss of a minority. */
const SAFETY: DbOptions = {
  readPreference: 'primary',
  readConcern: new ReadConcern('majority'),
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 10_000 },
};

/** Milliseconds between two tries to reach a database that was never reached. */
const TRY_AGAIN = 1000;

/**
 * Milliseconds without a server, after which a new client looks for one beside the old: when all connections break at
 * once, the driver's own watch can wait for an answer for ever (seen with 7.8.0 on a busy machine).
 */
const RENEW_AFTER = 10_000;

const TAKES_WRITES = new Set<string>(['Standalone', 'RSPrimary', 'Mongos', 'LoadBalancer']);

/** A client that has reached its database, and found it in order. */
interface Opened {
  client: MongoClient;
  db: Db;
}

/** The database at an address: connected and prepared by the first call that can, watched from then on. */
export class Connection {
  readonly #options: ConnectionOptions;
  #opening: Promise<Opened> | null = null;
  #renewal: Promise<void> | null = null;
  /** The client whose view of the servers counts. */
  #watched: MongoClient | null = null;
  #isClosed = false;
  #hasServer = false;
  /** Why, where a call has found no server since there was one. */
  #away: HoldfastError | null = null;
  /** When that began, or a new client was tried last. */
  #awayAt = 0;
  /** What `term` counts the changes of. */
  #writable = '';
  #term = 0;
  /** How to end each wait for the database. */
  readonly #waits = new Set<(error: HoldfastError) => void>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    options.enough?.addEventListener('abort', () => this.#abandon(), { once: true });
  }

  /**
   * Another number as soon as commands can go to another server than before, or to one that was elected again. Behind a
   * `mongos` nobody is told of elections.
   */
  get term(): number {
    return this.#term;
  }

  /** Resolves when the database was reached and prepared. Rejects as `invalid` where it must not be touched. */
  async open(): Promise<void> {
    await this.#wait(this.#database());
  }

  /**
   * Runs a command. While no server takes writes, only the first call waits for one; the others reject at
   * once, so that what can be served from memory is served without a delay.
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
      const known = storeError(error, this.#options.place);
      if (isNoServer(error)) this.#noteAway(known as HoldfastError);
      throw known;
    }
  }

  /** As `call`, but not after the abort: the driver's own limits are longer than a process that ends has time. */
  #wait<T>(call: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.#options.enough?.aborted === true) reject(closedError());
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

  /** After a failure the same error answers for a while, and then it is tried anew. */
  async #connect(): Promise<Opened> {
    try {
      return await this.#openClient();
    } catch (error) {
      setTimeout(() => {
        this.#opening = null;
      }, TRY_AGAIN).unref();
      throw openError(error, this.#options.place);
    }
  }

  async #openClient(): Promise<Opened> {
    const client = new MongoClient(this.#options.uri, { ...LIMITS, ...SAFETY });
    let seen: TopologyDescription | null = null;
    client.on('topologyDescriptionChanged', ({ newDescription }) => {
      seen = newDescription;
      if (this.#watched === client) this.#follow(newDescription);
    });
    try {
      await client.connect();
      const db = client.db(this.#options.database, SAFETY);
      const info = await describeServer(db);
      await this.#options.prepare(db);
      this.#options.onServer(info);
      this.#watched = client;
      if (seen !== null) this.#follow(seen);
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

  /** Puts a new client in the place of the old one, once it has found a server. */
  async #renew(): Promise<void> {
    const old = await this.#opening?.catch(() => null);
    const opened = await this.#openClient().catch(() => null);
    if (opened === null) return;
    this.#opening = Promise.resolve(opened);
    // It may be waiting for what never comes.
    void old?.client.close().catch(() => undefined);
  }

  #follow({ servers }: TopologyDescription): void {
    const writable = [...servers.values()].filter(({ type }) => TAKES_WRITES.has(type));
    this.#hasServer = writable.length > 0;
    if (this.#hasServer) this.#away = null;
    const now = writable.map(({ address, electionId }) => `${address} ${electionId?.toHexString()}`).join();
    if (now !== this.#writable) this.#term += 1;
    this.#writable = now;
  }
}

/** Once the manager runs, a database that must not be touched is one that cannot be used now. */
function asUnavailable(error: unknown): never {
  if (!(error instanceof HoldfastError) || error.kind !== 'invalid') throw error;
  throw new HoldfastError('unavailable', error.message, error.details, error);
}
