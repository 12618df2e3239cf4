import type { AnyBulkWriteOperation, Collection, Db } from 'mongodb';
import type { Connection } from '../../mongo/connection.ts';
import { COLLECTIONS } from '../schema/mongo.ts';
import type { Served } from '../served.ts';
import type { DeviceStore, KeptSlot } from './port.ts';
import type { DeviceSlot } from './slot.ts';

/** What the devices of a store in MongoDB depend on. */
export interface MongoDeviceParts {
  connection: Connection;
  /** Reads what devices are served. */
  served(): Promise<Served>;
}

/**
 * The document of a device; `_id` is its name. `keptAt` is when a manager wrote it last, Unix milliseconds. One without halves is
 * of a device that was forgotten then, or (0) that is about to be written.
 */
interface DeviceDocument extends Pick<DeviceSlot, 'poll' | 'report'> {
  _id: string;
  keptAt: number;
}

interface ReportDocument {
  _id: string;
  /** When it arrived, Unix milliseconds. */
  at: number;
  /** JSON. */
  body: string;
}

/** Not a name: it stands for when a manager last said that it hears devices. */
const HEARD = ' heard';

const EMPTY = { poll: null, report: null };
const KNOWN = { $or: [{ _id: HEARD }, { poll: { $ne: null } }, { report: { $ne: null } }] };

const PAGE = 2000;
/** How long other managers can read that a device was forgotten, in milliseconds. */
const FORGOTTEN = 600_000;

/** The devices of a store in MongoDB. Managers change halves of slots that they heard later than what is there. */
export function mongoDevices({ connection, served }: MongoDeviceParts): DeviceStore {
  const run = <T>(command: (db: Db) => Promise<T>): Promise<T> => connection.run(command);
  return {
    served,
    load: (each) =>
      run(async (db) => {
        let page: DeviceSlot[] = [];
        let heardAt: number | null = null;
        for await (const document of devices(db).find(KNOWN)) {
          if (document._id === HEARD) heardAt = document.keptAt;
          else page.push(slotOf(document));
          if (page.length < PAGE) continue;
          each(page);
          page = [];
        }
        each(page);
        return heardAt;
      }),
    put: (slots, at) =>
      run(async (db) => {
        await createMissing(db, [HEARD, ...slots.map(({ slot }) => slot.name)]);
        const heard: AnyBulkWriteOperation<DeviceDocument> = {
          updateOne: { filter: { _id: HEARD }, update: { $max: { keptAt: at } } },
        };
        await devices(db).bulkWrite([heard, ...slots.flatMap((kept) => changesOf(kept, at))], {
          ordered: false,
        });
        await putReports(db, slots);
      }),
    drop: (names) =>
      run(async (db) => {
        await devices(db).deleteMany({ _id: { $in: [...names] } });
        await reports(db).deleteMany({ _id: { $in: [...names] } });
      }),
    forget: (name, at) => run((db) => forget(db, name, at)),
    latestReport: (name) => run(async (db) => (await reports(db).findOne({ _id: name }))?.body ?? null),
    keptSince: (at) =>
      run(async (db) => {
        const found = await devices(db)
          .find({ keptAt: { $gte: at }, _id: { $ne: HEARD } })
          .toArray();
        return found.map(slotOf);
      }),
  };
}

/** Keeps an empty document for a while, which other managers read. */
async function forget(db: Db, name: string, at: number): Promise<void> {
  await devices(db).updateOne({ _id: name }, { $set: { ...EMPTY, keptAt: at } });
  await reports(db).deleteOne({ _id: name });
  const isOld = { $gt: 0, $lt: at - FORGOTTEN };
  await devices(db).deleteMany({ ...EMPTY, keptAt: isOld, _id: { $ne: HEARD } });
}

/** Creates documents without halves, so that what follows needs no upsert: two of one name at once would collide. */
async function createMissing(db: Db, names: readonly string[]): Promise<void> {
  const known = await devices(db)
    .find({ _id: { $in: [...names] } }, { projection: { _id: 1 } })
    .toArray();
  const isKnown = new Set(known.map(({ _id }) => _id));
  const missing = names.filter((name) => !isKnown.has(name));
  if (missing.length === 0) return;
  await devices(db).bulkWrite(
    missing.map((_id) => ({
      updateOne: {
        filter: { _id },
        update: { $setOnInsert: { ...EMPTY, keptAt: 0 } },
        upsert: true,
      },
    })),
    { ordered: false },
  );
}

function changesOf({ slot }: KeptSlot, keptAt: number): AnyBulkWriteOperation<DeviceDocument>[] {
  const halves = [
    slot.poll && (['poll', slot.poll] as const),
    slot.report && (['report', slot.report] as const),
  ];
  return halves.flatMap((half) => {
    if (half === null) return [];
    const [key, value] = half;
    const isNotLater = { $or: [{ [key]: null }, { [`${key}.at`]: { $lte: value.at } }] };
    return [
      {
        updateOne: { filter: { _id: slot.name, ...isNotLater }, update: { $set: { [key]: value, keptAt } } },
      },
    ];
  });
}

async function putReports(db: Db, slots: readonly KeptSlot[]): Promise<void> {
  const sent = slots.filter(({ report }) => report !== undefined);
  if (sent.length === 0) return;
  await reports(db).bulkWrite(
    sent.map(({ slot: { name, report: half }, report: body = '' }) => ({
      updateOne: { filter: { _id: name }, update: { $set: { at: half?.at ?? 0, body } }, upsert: true },
    })),
    { ordered: false },
  );
}

function slotOf({ _id: name, poll, report }: DeviceDocument): DeviceSlot {
  return { name, poll, report };
}

function devices(db: Db): Collection<DeviceDocument> {
  return db.collection<DeviceDocument>(COLLECTIONS.devices);
}

function reports(db: Db): Collection<ReportDocument> {
  return db.collection<ReportDocument>(COLLECTIONS.deviceReports);
}
