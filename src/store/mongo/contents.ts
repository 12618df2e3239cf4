import { BSON, type Collection, type Db, type Document, ObjectId } from 'mongodb';
import { HoldfastError } from '../../errors.ts';
import { Report } from '../../protocol/report.ts';
import type {
  Contents,
  ContentsCounter,
  ContentsObject,
  ContentsReport,
  ContentsState,
} from '../contents.ts';
import { maxOid } from '../object-id.ts';
import type { OperationEntry } from '../operation.ts';
import { operationEntry } from '../operation-page.ts';
import type { Connection } from './connection.ts';
import type { FleetRoot, ObjectDocument, OperationDocument, ReportsRoot } from './documents.ts';
import { progressOf } from './fleet-reads.ts';
import { MongoDocuments } from './mongo-documents.ts';
import { COLLECTIONS, refuseUnusable } from './schema.ts';

/**
 * Reads everything in a database. Its roots must be settled, and no manager must be running. Documents that are not
 * reports by the rules of the API are left out.
 */
export class MongoContents implements Contents {
  protected readonly connection: Connection;
  /** Selects the reports that are read. */
  protected readonly selectedReports: Document = {};
  readonly #documents: MongoDocuments;

  constructor(connection: Connection) {
    this.connection = connection;
    this.#documents = new MongoDocuments(connection);
  }

  async state(): Promise<ContentsState> {
    await this.connection.run(refuseUnusable);
    const root = await this.#documents.readRoot<FleetRoot>('fleet');
    if (root === null) throw new HoldfastError('invalid', 'there is no store in this database');
    const reports = await this.#documents.readRoot<ReportsRoot>('reports');
    if (!root.isSettled || reports?.isSettled === false)
      throw new HoldfastError('conflict', 'a write is unfinished; start a manager, stop it, and copy again');
    const { claimed, defaultFloor } = root;
    const lastOid = maxOid(root.lastOid, reports?.lastOid ?? null);
    return { ...progressOf(root), claimed, defaultFloor, lastOid };
  }

  async objects(after: string | null, limit: number): Promise<ContentsObject[]> {
    const allChanged = (await this.#documents.readRoot<FleetRoot>('fleet'))?.allChanged ?? 0;
    const rows = await this.connection.run((db) =>
      objects(db)
        .find({ _id: { $gt: after ?? '' } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray(),
    );
    return rows.map(({ _id: key, kind, name, own, prune, stored }) => {
      return { key, kind, name, own: counter(own, allChanged), prune: counter(prune, allChanged), stored };
    });
  }

  async operations(after: number | null, limit: number): Promise<OperationEntry[]> {
    const rows = await this.connection.run((db) =>
      operations(db)
        .find({ _id: { $gt: after ?? 0 } })
        .sort({ _id: 1 })
        .limit(limit)
        .toArray(),
    );
    return rows.map((row) => operationEntry({ id: row._id, ...row }));
  }

  /** Includes reports that other programs put there. A page can be shorter than `limit`; only the last one is empty. */
  async reports(after: string | null, limit: number): Promise<ContentsReport[]> {
    for (let from = after ?? '0'.repeat(24); ; ) {
      const rows = await this.connection.run((db) =>
        db
          .collection(COLLECTIONS.reports)
          .find({ ...this.selectedReports, _id: { $gt: new ObjectId(from) } })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray(),
      );
      const reports = rows.flatMap(contentsReport);
      if (reports.length > 0 || rows.length === 0) return reports;
      from = String(rows.at(-1)?._id);
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

function objects(db: Db): Collection<ObjectDocument> {
  return db.collection<ObjectDocument>(COLLECTIONS.objects);
}

function operations(db: Db): Collection<OperationDocument> {
  return db.collection<OperationDocument>(COLLECTIONS.operations);
}

function counter(part: ContentsCounter | null, allChanged: number): ContentsCounter | null {
  if (part === null) return null;
  const { last, floor, hash, changed } = part;
  return { last, floor, hash, changed: Math.max(changed, allChanged) };
}

function contentsReport({ _id, ...rest }: Document): ContentsReport[] {
  const id = _id as ObjectId;
  const { arrived, body } = (rest['holdfast'] ?? {}) as { arrived?: number; body?: string };
  if (typeof body === 'string') return [{ oid: String(id), arrived: arrived ?? 0, body }];
  const parsed = Report.safeParse(BSON.EJSON.serialize(rest, { relaxed: true }));
  if (!parsed.success) return [];
  return [{ oid: String(id), arrived: id.getTimestamp().getTime(), body: JSON.stringify(parsed.data) }];
}
