import type { Collection, Db, Filter } from 'mongodb';
import type { EntryKind } from '../../protocol/history.ts';
import type { EntryQuery } from '../entry.ts';
import { COLLECTIONS } from '../schema/mongo.ts';
import type {
  ActDocument,
  EntryDocument,
  EntryPartDocument,
  FoundEntries,
  FoundEntry,
  ListedDocument,
} from './documents.ts';

const LISTED = { projection: { keys: 0, text: 0 } };

/** `Documents.nextAct`. */
export async function nextAct(db: Db, after: number): Promise<ActDocument[]> {
  const acts = db.collection<ActDocument>(COLLECTIONS.acts);
  const [first] = await acts
    .find({ number: { $gt: after } })
    .sort({ number: 1 })
    .limit(1)
    .toArray();
  if (first === undefined) return [];
  return acts.find({ number: first.number }).sort({ part: 1 }).toArray();
}

/** `Documents.entries`. */
export async function findEntries(
  db: Db,
  query: EntryQuery,
  before: number | null,
  limit: number,
): Promise<FoundEntries> {
  const conditions = await Promise.all([
    ...query.keys.map((list) => searched(db, { keys: { $in: [...list] } })),
    ...(query.text === null ? [] : [searched(db, { text: { $regex: literally(query.text) } })]),
  ]);
  const filter = all([...conditions, ...conditionsOf(query)]);
  const page = before === null ? filter : { $and: [filter, { _id: { $lt: before } }] };
  const documents = await entries(db).find(page, LISTED).sort({ _id: -1 }).limit(limit).toArray();
  return { documents, total: await entries(db).countDocuments(filter) };
}

/** Returns the filter of the entries that have this, or one of whose parts has it. */
async function searched(db: Db, filter: Search): Promise<Filter<EntryDocument>> {
  const numbers = await parts(db).distinct('n', filter);
  return numbers.length === 0 ? filter : { $or: [filter, { _id: { $in: numbers } }] };
}

type Search = { keys: { $in: string[] } } | { text: { $regex: string } };

function literally(text: string): string {
  return text.toLowerCase().replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
}

function conditionsOf({ kinds, since, until }: EntryQuery): Filter<EntryDocument>[] {
  const at = { ...(since === null ? {} : { $gte: since }), ...(until === null ? {} : { $lte: until }) };
  return [
    ...(kinds === null ? [] : [{ kind: { $in: [...kinds] } }]),
    ...(since === null && until === null ? [] : [{ at }]),
  ];
}

function all(conditions: Filter<EntryDocument>[]): Filter<EntryDocument> {
  return conditions.length === 0 ? {} : { $and: conditions };
}

/** `Documents.entry`. */
export async function findEntry(db: Db, n: number): Promise<FoundEntry | null> {
  const document = await entries(db).findOne({ _id: n });
  if (document === null) return null;
  const found = await parts(db)
    .find({ n }, { projection: { keys: 0, text: 0 } })
    .sort({ part: 1 })
    .toArray();
  return { document, parts: found };
}

/** `Documents.entrySince`. */
export async function findSince(
  db: Db,
  idSequence: number,
  keys: readonly string[],
): Promise<ListedDocument | null> {
  const filter = all([{ idSequence: { $gt: idSequence } }, await searched(db, { keys: { $in: [...keys] } })]);
  const [first] = await entries(db).find(filter, LISTED).sort({ idSequence: 1, _id: 1 }).limit(1).toArray();
  return first ?? null;
}

/** `Documents.entryBefore`. */
export async function findBefore(
  db: Db,
  idSequence: number,
  kinds: readonly EntryKind[],
): Promise<ListedDocument | null> {
  const filter = { idSequence: { $lt: idSequence }, kind: { $in: [...kinds] } };
  const [last] = await entries(db).find(filter, LISTED).sort({ idSequence: -1, _id: -1 }).limit(1).toArray();
  return last ?? null;
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

function parts(db: Db): Collection<EntryPartDocument> {
  return db.collection<EntryPartDocument>(COLLECTIONS.entryParts);
}
