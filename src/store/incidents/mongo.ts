import type { Collection, Db } from 'mongodb';
import type { Connection } from '../../mongo/connection.ts';
import { isDuplicateKey } from '../../mongo/errors.ts';
import { COLLECTIONS } from '../schema/mongo.ts';
import type { Incident } from './incident.ts';
import { type IncidentStore, LEAD_TIME, MOST_ENDED } from './port.ts';

type IncidentDocument = Omit<Incident, 'id'> & { _id: string };

/** Who decides what is an incident, and until when (Unix milliseconds). */
interface LeadDocument {
  _id: string;
  manager: string;
  until: number;
}

const LEAD = 'notifier';

/** The incidents of a store in MongoDB. `manager` is a name that no other manager has. */
export function mongoIncidents(connection: Connection, manager: string): IncidentStore {
  const run = <T>(command: (db: Db) => Promise<T>): Promise<T> => connection.run(command);
  return {
    load: () =>
      run(async (db) => {
        const found = await incidents(db).find().toArray();
        return found.map(({ _id: id, ...rest }) => ({ id, ...rest }));
      }),
    put: (list) =>
      run(async (db) => {
        if (list.length === 0) return;
        const writes = list.map(({ id: _id, ...rest }) => ({
          replaceOne: { filter: { _id }, replacement: rest, upsert: true },
        }));
        await incidents(db).bulkWrite(writes, { ordered: false });
        await dropOld(db);
      }),
    leads: (now) => run((db) => takeLead(db, manager, now)),
  };
}

async function dropOld(db: Db): Promise<void> {
  const [last] = await incidents(db)
    .find({ until: { $ne: null } })
    .sort({ until: -1 })
    .skip(MOST_ENDED)
    .limit(1)
    .toArray();
  if (last !== undefined)
    await incidents(db).deleteMany({ until: { $ne: null, $lte: last.until as number } });
}

/** Two managers can both ask for a lead that is free; the second one finds it taken. */
async function takeLead(db: Db, manager: string, now: number): Promise<boolean> {
  const filter = { _id: LEAD, $or: [{ manager }, { until: { $lt: now } }] };
  const update = { $set: { manager, until: now + LEAD_TIME } };
  try {
    const { matchedCount, upsertedCount } = await leads(db).updateOne(filter, update, { upsert: true });
    return matchedCount + upsertedCount > 0;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}

function incidents(db: Db): Collection<IncidentDocument> {
  return db.collection<IncidentDocument>(COLLECTIONS.incidents);
}

function leads(db: Db): Collection<LeadDocument> {
  return db.collection<LeadDocument>(COLLECTIONS.state);
}
