import type { Collection, Db, Filter } from 'mongodb';
import type { EntryQuery } from '../entry.ts';
import type {
  EntryDocument,
  EntryPartDocument,
  FoundEntries,
  FoundEntry,
  LedgerDocument,
} from './documents.ts';
import { COLLECTIONS } from './schema.ts';

/** `Documents.nextLedger`. */
export async function nextLedger(db: Db, after: number): Promise<LedgerDocument[]> {
  const ledger = db.collection<LedgerDocument>(COLLECTIONS.ledger);
  const [first] = await ledger
    .find({ number: { $gt: after } })
    .sort({ number: 1 })
    .limit(1)
    .toArray();
  if (first === undefined) return [];
  return ledger.find({ number: first.number }).sort({ part: 1 }).toArray();
}

/** `Documents.entries`. */
export async function findEntries(
  db: Db,
  query: EntryQuery,
  before: number | null,
  limit: number,
): Promise<FoundEntries> {
  const filter = filterOf(query);
  const page = before === null ? filter : { $and: [filter, { _id: { $lt: before } }] };
  const documents = await entries(db)
    .find(page, { projection: { keys: 0, text: 0 } })
    .sort({ _id: -1 })
    .limit(limit)
    .toArray();
  return { documents, total: await entries(db).countDocuments(filter) };
}

function filterOf({ keys, kinds, since, until, text }: EntryQuery): Filter<EntryDocument> {
  const at = { ...(since === null ? {} : { $gte: since }), ...(until === null ? {} : { $lte: until }) };
  const escaped = text?.toLowerCase().replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  const conditions: Filter<EntryDocument>[] = [
    ...keys.map((list) => ({ keys: { $in: [...list] } })),
    ...(kinds === null ? [] : [{ kind: { $in: [...kinds] } }]),
    ...(since === null && until === null ? [] : [{ at }]),
    ...(escaped === undefined ? [] : [{ text: { $regex: escaped } }]),
  ];
  return conditions.length === 0 ? {} : { $and: conditions };
}

/** `Documents.entry`. */
export async function findEntry(db: Db, n: number): Promise<FoundEntry | null> {
  const document = await entries(db).findOne({ _id: n });
  if (document === null) return null;
  const parts = await db
    .collection<EntryPartDocument>(COLLECTIONS.entryParts)
    .find({ n })
    .sort({ part: 1 })
    .toArray();
  return { document, parts };
}

/** `Documents.entriesByPrefix`. */
export function findByPrefix(db: Db, prefix: string): Promise<EntryDocument[]> {
  return entries(db)
    .find({ keys: { $elemMatch: { $gte: prefix, $lt: `${prefix}g` } } })
    .toArray();
}

function entries(db: Db): Collection<EntryDocument> {
  return db.collection<EntryDocument>(COLLECTIONS.entries);
}
