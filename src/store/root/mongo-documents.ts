import {
  type AnyBulkWriteOperation,
  type Collection,
  type Db,
  type Document,
  type Filter,
  MongoBulkWriteError,
  type OptionalUnlessRequiredId,
} from 'mongodb';
import type { Connection } from '../../mongo/connection.ts';
import { DUPLICATE_KEY, isDuplicateKey } from '../../mongo/errors.ts';
import type { EntryKind } from '../../protocol/history.ts';
import type { EntryQuery } from '../entry.ts';
import { COLLECTIONS } from '../schema/mongo.ts';
import type {
  ActDocument,
  Change,
  Documents,
  EntryDocument,
  FleetRoot,
  FoundEntries,
  FoundEntry,
  ListedDocument,
  ObjectDocument,
  ObjectScan,
  StagedChange,
} from './documents.ts';
import { findBefore, findByPrefix, findEntries, findEntry, findSince, nextAct } from './entry-queries.ts';

/** The database behind the store, accessed through MongoDB's own driver. */
export class MongoDocuments implements Documents {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  term(): number {
    return this.#connection.term;
  }

  readRoot(): Promise<FleetRoot | null> {
    return this.#run((db) => roots(db).findOne({ _id: ROOT }));
  }

  swapRoot(version: number, next: FleetRoot): Promise<boolean> {
    return this.#run(async (db) => {
      const { matchedCount } = await roots(db).replaceOne({ _id: ROOT, version }, next);
      return matchedCount === 1;
    });
  }

  async settleRoot(version: number): Promise<void> {
    await this.#run((db) =>
      roots(db).updateOne({ _id: ROOT, version }, { $set: { isSettled: true, changes: [] } }),
    );
  }

  async stage(changes: readonly StagedChange[]): Promise<void> {
    for (const chunk of chunks(changes)) {
      await this.#run((db) => staged(db).insertMany([...chunk], { ordered: false }));
    }
  }

  staged(writer: string): Promise<Change[]> {
    return this.#run(async (db) => {
      const found = await staged(db).find({ writer }).toArray();
      return found.map(({ change }) => change);
    });
  }

  async dropStaged(version: number): Promise<void> {
    await this.#run((db) => staged(db).deleteMany({ version: { $lte: version } }));
  }

  async put(changes: readonly Change[]): Promise<void> {
    for (const chunk of chunks(changes)) await this.#run((db) => putChunk(db, chunk));
  }

  async objects(ids: readonly string[]): Promise<ObjectDocument[]> {
    const found: ObjectDocument[] = [];
    for (const chunk of chunks([...new Set(ids)])) {
      const filter = { _id: { $in: [...chunk] } };
      found.push(...(await this.#run((db) => objects(db).find(filter).toArray())));
    }
    return found;
  }

  objectsSince(version: number, scan: ObjectScan = {}): Promise<ObjectDocument[]> {
    const { kind, countersAfter: changed, withoutContents } = scan;
    const filter: Filter<ObjectDocument> = {
      ...(version < 0 ? {} : { version: { $gt: version } }),
      // By the index of `_id`, in which all objects of a kind are adjacent: a fleet has many more apps than groups.
      ...(kind === undefined ? {} : { _id: { $gte: `${kind}/`, $lt: `${kind}0` } }),
      ...(changed === undefined
        ? {}
        : { $or: [{ 'own.changed': { $gt: changed } }, { 'prune.changed': { $gt: changed } }] }),
    };
    const projection = withoutContents ? { 'stored.content': 0, 'stored.origin': 0 } : {};
    return this.#run((db) => objects(db).find(filter, { projection }).toArray());
  }

  nextAct(after: number): Promise<ActDocument[]> {
    return this.#run((db) => nextAct(db, after));
  }

  entries(query: EntryQuery, before: number | null, limit: number): Promise<FoundEntries> {
    return this.#run((db) => findEntries(db, query, before, limit));
  }

  entry(n: number): Promise<FoundEntry | null> {
    return this.#run((db) => findEntry(db, n));
  }

  entrySince(idSequence: number, keys: readonly string[]): Promise<ListedDocument | null> {
    return this.#run((db) => findSince(db, idSequence, keys));
  }

  entryBefore(idSequence: number, kinds: readonly EntryKind[]): Promise<ListedDocument | null> {
    return this.#run((db) => findBefore(db, idSequence, kinds));
  }

  entriesByPrefix(prefix: string): Promise<EntryDocument[]> {
    return this.#run((db) => findByPrefix(db, prefix));
  }

  #run<T>(command: (db: Db) => Promise<T>): Promise<T> {
    return this.#connection.run(command);
  }
}

const ROOT = 'fleet';

function roots(db: Db): Collection<FleetRoot> {
  return db.collection<FleetRoot>(COLLECTIONS.state);
}

function objects(db: Db): Collection<ObjectDocument> {
  return db.collection<ObjectDocument>(COLLECTIONS.objects);
}

function staged(db: Db): Collection<StagedChange> {
  return db.collection<StagedChange>(COLLECTIONS.staged);
}

/** Documents in one command: at most a second's work, far below the driver's limits. */
const CHUNK_SIZE = 1000;

function chunks<T>(all: readonly T[]): (readonly T[])[] {
  const count = Math.ceil(all.length / CHUNK_SIZE);
  return Array.from({ length: count }, (_, index) => all.slice(index * CHUNK_SIZE, (index + 1) * CHUNK_SIZE));
}

async function putChunk(db: Db, changes: readonly Change[]): Promise<void> {
  const into = <I extends Change['in']>(name: I): Extract<Change, { in: I }>['document'][] =>
    changes.flatMap((change) => (change.in === name ? [change.document as never] : []));
  await putNewer(objects(db), into('objects'));
  await insertMissing(db.collection(COLLECTIONS.acts), into('acts'));
  for (const { act } of into('indexed'))
    await db.collection(COLLECTIONS.acts).deleteMany({ number: { $lte: act } });
  await insertMissing(db.collection(COLLECTIONS.entryParts), into('entry_parts'));
  await putNewer(db.collection<EntryDocument>(COLLECTIONS.entries), into('entries'));
}

/**
 * Writes each document, unless the database has it in the same or a later version: then the filter finds nothing, and
 * the upsert fails on the duplicate `_id`. That failure is the guard.
 */
async function putNewer<D extends Versioned>(collection: Collection<D>, documents: D[]): Promise<void> {
  if (documents.length === 0) return;
  await ignoringDuplicates(() => collection.bulkWrite(documents.map(replacingOlder), { ordered: false }));
}

interface Versioned extends Document {
  _id: string | number;
  version: number;
}

function replacingOlder<D extends Versioned>(document: D): AnyBulkWriteOperation<D> {
  const { _id, version } = document;
  const filter = { _id, version: { $lt: version } } as Filter<D>;
  return { replaceOne: { filter, replacement: document, upsert: true } };
}

async function insertMissing<D extends Document>(collection: Collection<D>, documents: D[]): Promise<void> {
  if (documents.length === 0) return;
  const insert = () => collection.insertMany(documents as OptionalUnlessRequiredId<D>[], { ordered: false });
  await ignoringDuplicates(insert);
}

async function ignoringDuplicates(write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (!isOnlyDuplicates(error)) throw error;
  }
}

function isOnlyDuplicates(error: unknown): boolean {
  if (!(error instanceof MongoBulkWriteError)) return isDuplicateKey(error);
  const errors = [error.writeErrors].flat();
  return (
    errors.length > 0 && errors.every(isDuplicateWrite) && error.result.getWriteConcernError() === undefined
  );
}

function isDuplicateWrite({ code }: { code?: number }): boolean {
  return code === DUPLICATE_KEY;
}
