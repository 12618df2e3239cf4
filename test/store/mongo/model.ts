import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Scheduler } from 'fast-check';
import { HoldfastError } from '../../../src/errors.ts';
import { appDefaults } from '../../../src/protocol/app.ts';
import type { HistoryStore } from '../../../src/store/history/port.ts';
import type { SharedStore, Store } from '../../../src/store/objects/port.ts';
import { type DocumentOptions, documentPorts } from '../../../src/store/open/mongo-ports.ts';
import type { Ports } from '../../../src/store/open/ports.ts';
import type {
  ActDocument,
  Change,
  Documents,
  EntryDocument,
  EntryPartDocument,
  FleetRoot,
  FoundEntries,
  FoundEntry,
  ObjectDocument,
  ObjectScan,
  StagedChange,
} from '../../../src/store/root/documents.ts';
import { newFleetRoot } from '../../../src/store/root/documents.ts';
import { joined } from '../../support/flat-store.ts';

/**
 * What becomes of a command: it succeeds (`ok`); its connection breaks before or after it is executed; or its connection
 * breaks and it is executed much later (`late`).
 */
export type Fate = 'ok' | 'before' | 'after' | 'late';

/** Scheduler turns until a late command is executed. */
const LATE = 12;

/** Mistakes that a test can plant: each removes one thing that the safety of the store depends on. */
export type Mistake =
  /** Replaces a root of any version. */
  | 'unguarded swap'
  /** Writes an object over a newer one. */
  | 'unguarded put'
  /** Marks a root of any version as settled. */
  | 'unguarded settle'
  /** Reads a root without its recent writers. */
  | 'forgotten writers'
  /** A pass reads the branch before the sequence. */
  | 'head before sequence'
  /** A follower reads the mark after the changes. */
  | 'mark after changes';

interface Contents {
  root: FleetRoot;
  objects: Map<string, ObjectDocument>;
  acts: Map<string, ActDocument>;
  entries: Map<number, EntryDocument>;
  entryParts: Map<string, EntryPartDocument>;
  staged: Map<string, StagedChange>;
}

/**
 * A database with MongoDB's promises: a change of one document is atomic; a read sees what a majority of the members
 * has, which is every acknowledged change and perhaps not yet the last one; after an election it can be less.
 */
export class ModelDatabase {
  #primary: Contents = {
    root: newFleetRoot('f'),
    objects: new Map(),
    acts: new Map(),
    entries: new Map(),
    entryParts: new Map(),
    staged: new Map(),
  };
  #majority: Contents = structuredClone(this.#primary);
  /** The number of elections. */
  term = 0;

  get primary(): Contents {
    return this.#primary;
  }

  get majority(): Contents {
    return this.#majority;
  }

  /** Restores a backup. */
  restore(contents: Contents): void {
    this.#primary = structuredClone(contents);
    this.replicate();
  }

  /** Elects another primary. It has everything, but reads show only `known` until it has heard from the other members. */
  elect(known: Contents): void {
    this.term += 1;
    this.#majority = structuredClone(known);
  }

  /** The members catch up: a majority has everything. */
  replicate(): void {
    this.#majority = structuredClone(this.#primary);
  }
}

export interface ModelOptions {
  database: ModelDatabase;
  /** Decides the order of everything that happens. */
  scheduler: Scheduler;
  /** Returns the fate of the next command. */
  nextFate(): Fate;
  mistake: Mistake | null;
}

/** One manager's connection to the database. The scheduler decides when each command is executed, replicated and answered. */
export class ModelDocuments implements Documents {
  readonly #options: ModelOptions;

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  term(): number {
    return this.#options.database.term;
  }

  readRoot(): Promise<FleetRoot> {
    return this.#read(({ root }) => {
      const read = structuredClone(root);
      return this.#isMistaken('forgotten writers') ? { ...read, recent: [] } : read;
    });
  }

  swapRoot(version: number, next: FleetRoot): Promise<boolean> {
    return this.#write((contents) => {
      const isThere = contents.root.version === version;
      if (!isThere && !this.#isMistaken('unguarded swap')) return false;
      contents.root = structuredClone(next);
      return true;
    });
  }

  settleRoot(version: number): Promise<void> {
    return this.#write((contents) => {
      const { root } = contents;
      if (root.version !== version && !this.#isMistaken('unguarded settle')) return;
      contents.root = { ...root, isSettled: true, changes: [] };
    });
  }

  async stage(changes: readonly StagedChange[]): Promise<void> {
    for (const change of changes)
      await this.#write(({ staged }) => void staged.set(change._id, structuredClone(change)));
  }

  staged(writer: string): Promise<Change[]> {
    return this.#read(({ staged }) =>
      [...staged.values()].filter((one) => one.writer === writer).map((one) => structuredClone(one.change)),
    );
  }

  async dropStaged(version: number): Promise<void> {
    for (const { _id } of [...this.#options.database.primary.staged.values()].filter(
      (one) => one.version <= version,
    ))
      await this.#write(({ staged }) => void staged.delete(_id));
  }

  /** One command for each change: those of another manager can come in between. */
  async put(changes: readonly Change[]): Promise<void> {
    await Promise.all(changes.map((change) => this.#write((contents) => this.#putOne(contents, change))));
  }

  objects(ids: readonly string[]): Promise<ObjectDocument[]> {
    return this.#read(({ objects }) =>
      ids.flatMap((id) => {
        const found = objects.get(id);
        return found === undefined ? [] : [structuredClone(found)];
      }),
    );
  }

  objectsSince(version: number, { kind, countersAfter = -1 }: ObjectScan = {}): Promise<ObjectDocument[]> {
    const isAsked = (one: ObjectDocument): boolean =>
      one.version > version &&
      (kind === undefined || one.kind === kind) &&
      Math.max(one.own?.changed ?? 0, one.prune?.changed ?? 0) > countersAfter;
    return this.#read(({ objects }) =>
      [...objects.values()].filter(isAsked).map((one) => structuredClone(one)),
    );
  }

  nextAct(after: number): Promise<ActDocument[]> {
    return this.#read(({ acts }) => {
      const later = [...acts.values()].filter(({ number }) => number > after);
      const next = Math.min(...later.map(({ number }) => number));
      return later.filter(({ number }) => number === next).sort((a, b) => a.part - b.part);
    });
  }

  /** The model has no entries but those that it is asked for by number or by key. */
  entries(): Promise<FoundEntries> {
    return Promise.resolve({ documents: [], total: 0 });
  }

  entry(n: number): Promise<FoundEntry | null> {
    return this.#read(({ entries, entryParts }) => {
      const document = entries.get(n);
      const parts = [...entryParts.values()].filter((part) => part.n === n);
      return document === undefined ? null : structuredClone({ document, parts });
    });
  }

  entrySince(idSequence: number, keys: readonly string[]): Promise<EntryDocument | null> {
    return this.#read(({ entries }) => {
      const later = [...entries.values()].filter((entry) => (entry.idSequence ?? 0) > idSequence);
      return (
        later.sort((a, b) => a._id - b._id).find((entry) => entry.keys.some((key) => keys.includes(key))) ??
        null
      );
    });
  }

  entryBefore(idSequence: number): Promise<EntryDocument | null> {
    return this.#read(({ entries }) => {
      const earlier = [...entries.values()].filter((entry) => (entry.idSequence ?? idSequence) < idSequence);
      return earlier.sort((a, b) => b._id - a._id)[0] ?? null;
    });
  }

  entriesByPrefix(prefix: string): Promise<EntryDocument[]> {
    return this.#read(({ entries }) =>
      [...entries.values()].filter(({ keys }) => keys.some((key) => key.startsWith(prefix))),
    );
  }

  #putOne({ objects, acts, entries, entryParts }: Contents, given: Change): void {
    const change = structuredClone(given);
    if (change.in === 'acts') acts.set(change.document._id, change.document);
    else if (change.in === 'indexed') dropActs(acts, change.document.act);
    else if (change.in === 'entry_parts') entryParts.set(change.document._id, change.document);
    else if (change.in === 'entries') putNewer(entries, change.document);
    else if (this.#isMistaken('unguarded put')) objects.set(change.document._id, change.document);
    else putNewer(objects, change.document);
  }

  async #read<T>(select: (contents: Contents) => T): Promise<T> {
    const { database, nextFate } = this.#options;
    const fate = nextFate();
    await this.#turn('read');
    const result = select(database.majority);
    await this.#turn('answer');
    if (fate !== 'ok') throw new HoldfastError('unavailable', 'the connection broke');
    return result;
  }

  async #write<T>(change: (contents: Contents) => T): Promise<T> {
    const { database, nextFate } = this.#options;
    const fate = nextFate();
    await this.#turn('write');
    if (fate === 'late') void this.#executeLate(change);
    if (fate === 'before' || fate === 'late') throw new HoldfastError('unavailable', 'the connection broke');
    const result = change(database.primary);
    const replicated = this.#turn('replicate').then(() => database.replicate());
    if (fate === 'after') throw new HoldfastError('unavailable', 'the connection broke');
    await replicated;
    await this.#turn('answer');
    return result;
  }

  async #executeLate<T>(change: (contents: Contents) => T): Promise<void> {
    const { database } = this.#options;
    for (let turn = 0; turn < LATE; turn += 1) await this.#turn('late');
    change(database.primary);
    database.replicate();
  }

  async #turn(label: string): Promise<void> {
    await this.#options.scheduler.schedule(Promise.resolve(), label);
  }

  #isMistaken(mistake: Mistake): boolean {
    return this.#options.mistake === mistake;
  }
}

function dropActs(acts: Map<string, ActDocument>, last: number): void {
  for (const [id, { number }] of acts) if (number <= last) acts.delete(id);
}

function putNewer<I, D extends { _id: I; version: number }>(documents: Map<I, D>, document: D): void {
  if (document.version > (documents.get(document._id)?.version ?? -1)) documents.set(document._id, document);
}

/** Waits for everything in progress; a late command schedules each turn only after the one before. */
export async function drain(scheduler: Scheduler): Promise<void> {
  do {
    await scheduler.waitAll();
    await setImmediate();
  } while (scheduler.count() > 0);
}

/** A connection whose commands run at once and never fail. */
export function calmDocuments(database: ModelDatabase): Documents {
  const scheduler = { schedule: (task: Promise<unknown>) => task } as unknown as Scheduler;
  return new ModelDocuments({ database, scheduler, nextFate: () => 'ok', mistake: null });
}

/** The objects and the history of a store on the model. */
export type ModelStore = Store & SharedStore & HistoryStore & Pick<Ports, 'close'>;

export function openModel(options: DocumentOptions): ModelStore {
  const { store, history, close } = documentPorts(options);
  return joined<ModelStore>({ close }, store, history);
}

/** Opens a store on the model whose commands run at once and never fail; `wrap` may replace some of them. */
export function calmStore(
  database: ModelDatabase,
  wrap: (documents: Documents) => Documents = (documents) => documents,
  inlineLimit = 1_000_000,
): ModelStore {
  return openModel({
    documents: wrap(calmDocuments(database)),
    defaults: appDefaults(['nebula', 'bridge']),
    random: randomBytes,
    pause: () => Promise.resolve(),
    inlineLimit,
  });
}
