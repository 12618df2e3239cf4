import type { AnyBulkWriteOperation, Collection, Db, Document } from 'mongodb';
import { HoldfastError } from '../../errors.ts';
import type { Report } from '../../protocol/report.ts';
import type {
  ContentsObject,
  ContentsReport,
  ContentsState,
  ContentsTarget,
  Reached,
  ReachedParts,
} from '../contents.ts';
import type { OperationEntry } from '../operation.ts';
import { MongoContents } from './contents.ts';
import type { FleetRoot } from './documents.ts';
import { isDuplicateKey } from './errors.ts';
import { reportToStore } from './report-queries.ts';
import { reportDocument } from './reports.ts';
import {
  COLLECTIONS,
  createIndexes,
  newFleetRoot,
  newReportsRoot,
  refuseUnknownSchema,
  SCHEMA_VERSION,
  type SchemaDocument,
} from './schema.ts';

/** A database that `store copy` fills. */
export class MongoTarget extends MongoContents implements ContentsTarget {
  /** Only copied ones: other programs may have put theirs into the collection already. */
  protected override readonly selectedReports = { 'holdfast.body': { $exists: true } };

  async begin(state: ContentsState): Promise<void> {
    const copyingFrom = JSON.stringify(state);
    const found = await this.connection.run((db) => claim(db, state.fleet));
    if (found.copyingFrom === copyingFrom) return;
    // The copy is new, or an earlier run copied another state of the source: start again.
    await this.clear();
    await this.connection.run(async (db) => {
      await createIndexes(db);
      await schema(db).updateOne({ _id: 'schema', copying: state.fleet }, { $set: { copyingFrom } });
    });
  }

  async reached(): Promise<ReachedParts> {
    const [objects, operations, reports] = await this.connection.run((db) =>
      Promise.all([
        reachedIn(db.collection(COLLECTIONS.objects), {}),
        reachedIn(db.collection(COLLECTIONS.operations), {}),
        reachedIn(db.collection(COLLECTIONS.reports), this.selectedReports),
      ]),
    );
    return {
      objects: { ...objects, last: objects.last as string | null },
      operations: { ...operations, last: operations.last as number | null },
      reports: { ...reports, last: reports.last === null ? null : String(reports.last) },
    };
  }

  async clear(): Promise<void> {
    await this.connection.run(async (db) => {
      await db.collection(COLLECTIONS.objects).deleteMany({});
      await db.collection(COLLECTIONS.operations).deleteMany({});
      await db.collection(COLLECTIONS.reports).deleteMany(this.selectedReports);
    });
  }

  putObjects(rows: readonly ContentsObject[]): Promise<void> {
    return this.#put(
      COLLECTIONS.objects,
      rows.map(({ key: _id, ...row }) => ({ _id, ...row, version: 0 })),
    );
  }

  putOperations(rows: readonly OperationEntry[]): Promise<void> {
    return this.#put(
      COLLECTIONS.operations,
      rows.map(({ id: _id, ids, ...entry }) => ({ _id, ...entry, ids: JSON.stringify(ids) })),
    );
  }

  putReports(rows: readonly ContentsReport[]): Promise<void> {
    const documents = rows.map(({ oid, arrived, body }) =>
      reportToStore(reportDocument(oid, arrived, JSON.parse(body) as Report, body)),
    );
    return this.#put(COLLECTIONS.reports, documents);
  }

  /** The root gets the highest id of an operation as its version, because the ids of operations are versions. */
  async finish(state: ContentsState): Promise<void> {
    const version = (await this.reached()).operations.last ?? 0;
    const fleet: FleetRoot = { ...newFleetRoot(state.fleet), ...state, version };
    await this.connection.run(async (db) => {
      const roots = db.collection<{ _id: string }>(COLLECTIONS.state);
      await roots.replaceOne({ _id: 'fleet' }, fleet, { upsert: true });
      await roots.replaceOne(
        { _id: 'reports' },
        { ...newReportsRoot(), lastOid: state.lastOid },
        { upsert: true },
      );
      const unsetCopying = { $unset: { copying: '', copyingFrom: '' } } as const;
      await schema(db).updateOne({ _id: 'schema', copying: state.fleet }, unsetCopying);
    });
  }

  /** Inserts in order, so that an interruption leaves no gap in the rows. */
  async #put(collection: string, documents: Document[]): Promise<void> {
    await this.connection.run(async (db) => {
      try {
        await db.collection(collection).insertMany(documents, { ordered: true });
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
        // A command of an earlier run that was killed has been executed after all.
        await db.collection(collection).bulkWrite(documents.map(replacing), { ordered: true });
      }
    });
  }
}

function replacing(replacement: Document): AnyBulkWriteOperation {
  return { replaceOne: { filter: { _id: replacement['_id'] }, replacement, upsert: true } };
}

function schema(db: Db): Collection<SchemaDocument> {
  return db.collection<SchemaDocument>(COLLECTIONS.state);
}

/**
 * Marks a new database as an unfinished copy of this fleet. Rejects as `invalid` if the database is not such a copy.
 */
async function claim(db: Db, fleet: string): Promise<SchemaDocument> {
  try {
    await schema(db).insertOne({ _id: 'schema', version: SCHEMA_VERSION, copying: fleet });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const found = await schema(db).findOne({ _id: 'schema' });
  refuseUnknownSchema(found?.version ?? SCHEMA_VERSION);
  if (found?.copying === undefined)
    throw new HoldfastError('invalid', 'the database already contains a store');
  if (found.copying === fleet) return found;
  throw new HoldfastError(
    'invalid',
    'the database contains an unfinished copy of another store; drop it first',
  );
}

async function reachedIn(collection: Collection, filter: Document): Promise<Reached<unknown>> {
  const [last] = await collection
    .find(filter, { projection: { _id: 1 } })
    .sort({ _id: -1 })
    .limit(1)
    .toArray();
  return { rows: await collection.countDocuments(filter), last: last?._id ?? null };
}
