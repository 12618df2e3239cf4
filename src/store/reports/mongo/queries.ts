import { BSON, type Db, type Document, type Filter, ObjectId } from 'mongodb';
import { COLLECTIONS } from '../../schema/mongo.ts';
import type { ReportQuery } from '../report.ts';

/** A report that came through the API. The fields besides `body` are there to be searched; its `_id` is of the driver. */
export interface ReportDocument {
  hostname: string;
  device_group: string;
  report_creation_time: number;
  updated?: boolean;
  holdfast: {
    /** Unix milliseconds. */
    arrived: number;
    /** The report as it was sent: JSON. */
    body: string;
  };
}

/** The first reports of a query. `isCut` if fewer than requested were read because of their size: there can be more. */
export interface FoundReports {
  rows: FoundReport[];
  isCut: boolean;
}

/** The number of reports, and their bytes without indexes. */
export interface ReportsSize {
  count: number;
  bytes: number;
}

/** A report of a query; `isOurs` if it came through the API. */
export interface FoundReport {
  oid: string;
  receivedAt: number;
  isOurs: boolean;
  report: unknown;
}

/** How many reports one call of `expireSome` or `dropOldest` deletes at most. */
const DELETE_AT_ONCE = 1000;

/** After this many bytes only one more report is read: a report can have a megabyte, and a page a thousand reports. */
const MAX_BYTES = 4_194_304;

const LOWEST = '0'.repeat(24);

/** Finds the first `limit` reports of a query. Documents whose `_id` is not an ObjectId are left out. */
export async function findReports(db: Db, query: ReportQuery, limit: number): Promise<FoundReports> {
  const cursor = db.collection(COLLECTIONS.reports).find(filterOf(query)).sort({ _id: 1 }).limit(limit);
  const rows: FoundReport[] = [];
  let bytes = 0;
  for await (const document of cursor) {
    rows.push(foundReport(document));
    if (bytes >= MAX_BYTES) return { rows, isCut: rows.length < limit };
    bytes += BSON.calculateObjectSize(document);
  }
  return { rows, isCut: false };
}

/**
 * Deletes some of the reports that arrived before `before` (Unix milliseconds), and resolves to how many. A report of
 * another program arrived when its `_id` was made: the reporter makes it, not the device.
 */
export async function expireSome(db: Db, before: number): Promise<number> {
  const collection = db.collection(COLLECTIONS.reports);
  const made = ObjectId.createFromTime(Math.max(0, Math.floor(before / 1000)));
  const filters: Filter<Document>[] = [
    { 'holdfast.arrived': { $lt: before } },
    { _id: { $lt: made }, holdfast: { $exists: false } },
  ];
  for (const filter of filters) {
    const found = await collection
      .find(filter, { projection: { _id: 1 } })
      .limit(DELETE_AT_ONCE)
      .toArray();
    if (found.length === 0) continue;
    const { deletedCount } = await collection.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
    return deletedCount;
  }
  return 0;
}

/** Measures all documents of the collection, by the numbers that the database keeps about it. */
export async function measureReports(db: Db): Promise<ReportsSize> {
  const { count, size } = await db.command({ collStats: COLLECTIONS.reports });
  return { count: Number(count), bytes: Number(size) };
}

/** Deletes the reports with the lowest `_id`, at most `count`, and resolves to how many. */
export async function dropOldest(db: Db, count: number): Promise<number> {
  const collection = db.collection(COLLECTIONS.reports);
  const found = await collection
    .find({}, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .limit(Math.min(count, DELETE_AT_ONCE))
    .toArray();
  if (found.length === 0) return 0;
  const { deletedCount } = await collection.deleteMany({ _id: { $in: found.map(({ _id }) => _id) } });
  return deletedCount;
}

function filterOf({ hostname, deviceGroup, creationTime, updated, after }: ReportQuery): Filter<Document> {
  return {
    _id: after === undefined ? { $gte: new ObjectId(LOWEST) } : { $gt: new ObjectId(after) },
    ...(hostname === undefined ? {} : { hostname: { $eq: hostname } }),
    ...(deviceGroup === undefined ? {} : { device_group: { $eq: deviceGroup } }),
    ...(creationTime === undefined
      ? {}
      : { report_creation_time: { [`$${creationTime.comparison}`]: creationTime.seconds } }),
    ...(updated === undefined ? {} : { updated: { $eq: updated } }),
  };
}

/** A report of another program arrived when its `_id` was made, as in `expireSome`. */
function foundReport({ _id, ...rest }: Document): FoundReport {
  const oid = String(_id);
  const { arrived, body } = rest['holdfast'] ?? {};
  const receivedAt = typeof arrived === 'number' ? arrived : (_id as ObjectId).getTimestamp().getTime();
  if (typeof body === 'string') return { oid, receivedAt, isOurs: true, report: JSON.parse(body) };
  return { oid, receivedAt, isOurs: false, report: BSON.EJSON.serialize(rest, { relaxed: true }) };
}
