import type { Collection, Db } from 'mongodb';
import type { Connection } from '../../mongo/connection.ts';
import { COLLECTIONS } from '../schema/mongo.ts';
import { ANSWERABLE, type Ask, MOST_TEXT, MOST_WAITING } from './ask.ts';
import type { AskStore } from './port.ts';

type AskDocument = Omit<Ask, 'id'> & { _id: string };

/** Asks of a store in MongoDB: a device can answer another manager than the one that was asked. */
export function mongoAsks(connection: Connection): AskStore {
  const run = <T>(command: (db: Db) => Promise<T>): Promise<T> => connection.run(command);
  return {
    add: ({ id: _id, ...ask }) =>
      run(async (db) => {
        const waiting = await asks(db).countDocuments({ device: ask.device, ...waitingAt(ask.at) });
        if (waiting >= MOST_WAITING) return false;
        await asks(db).insertOne({ _id, ...ask });
        return true;
      }),
    waiting: (now) =>
      run(async (db) => (await asks(db).find(waitingAt(now)).sort({ at: 1 }).toArray()).map(askOf)),
    get: (device, id) =>
      run(async (db) => {
        const found = await asks(db).findOne({ _id: id, device });
        return found === null ? null : askOf(found);
      }),
    answer: (device, id, answer) =>
      run(async (db) => {
        const filter = { _id: id, device, ...waitingAt(answer.at) };
        const { matchedCount } = await asks(db).updateOne(filter, { $set: { answer } });
        if (matchedCount > 0) await dropAnswers(db);
        return matchedCount > 0;
      }),
    dropBefore: (at) => run(async (db) => void (await asks(db).deleteMany({ at: { $lt: at } }))),
  };
}

function waitingAt(now: number) {
  return { answer: null, at: { $gt: now - ANSWERABLE } };
}

async function dropAnswers(db: Db): Promise<void> {
  const answered = await asks(db)
    .find({ answer: { $ne: null } })
    .sort({ at: 1 })
    .toArray();
  let size = answered.reduce((sum, { answer }) => sum + (answer?.text.length ?? 0), 0);
  for (const { _id, answer } of answered) {
    if (size <= MOST_TEXT) return;
    await asks(db).deleteOne({ _id });
    size -= answer?.text.length ?? 0;
  }
}

function askOf({ _id: id, ...ask }: AskDocument): Ask {
  return { id, ...ask };
}

function asks(db: Db): Collection<AskDocument> {
  return db.collection<AskDocument>(COLLECTIONS.asks);
}
