import type { Collection, MongoClient } from 'mongodb';
import { dropDatabase, newDatabase, SERVER, withClient } from './place.ts';

/** What a server does with 50 calls at once; each number is 50, 1 or 1 where it keeps its promises. */
interface Probe {
  /** Distinct answers of `findOneAndUpdate` with `$inc` on one document. */
  distinctCounts: number;
  /** Winners of 50 updates that expect the same version. */
  guardedWinners: number;
  /** Winners of 50 inserts of one unique key. */
  uniqueWinners: number;
}

interface Counted {
  _id: string;
  count: number;
}

const AT_ONCE = 50;
const ROUNDS = 3;

/** Whether updates of one document are atomic here, and unique keys are: measured, not believed. */
async function probeServer(): Promise<Probe> {
  const database = newDatabase();
  try {
    return await withClient((client) => probe(client, database));
  } finally {
    await dropDatabase(database);
  }
}

function holds({ distinctCounts, guardedWinners, uniqueWinners }: Probe): boolean {
  return distinctCounts === AT_ONCE && guardedWinners === 1 && uniqueWinners === 1;
}

/** Measures once, says in one line what came out, and tells whether tests of races mean anything here. */
export async function canRace(): Promise<boolean> {
  if (SERVER.isMissing) return false;
  const result = await probeServer();
  const verdict = holds(result) ? 'tests of races run' : 'tests of races are left out';
  process.stdout.write(`probe of the server: ${JSON.stringify(result)}; ${verdict}\n`);
  return holds(result);
}

async function probe(client: MongoClient, database: string): Promise<Probe> {
  const collection = client.db(database).collection<Counted>('probe');
  const worst: Probe = { distinctCounts: AT_ONCE, guardedWinners: 1, uniqueWinners: 1 };
  for (let round = 0; round < ROUNDS; round += 1) {
    worst.distinctCounts = Math.min(worst.distinctCounts, await countUp(collection, `count-${round}`));
    worst.guardedWinners = Math.max(worst.guardedWinners, await guard(collection, `guard-${round}`));
    worst.uniqueWinners = Math.max(worst.uniqueWinners, await insert(collection, `insert-${round}`));
  }
  return worst;
}

async function countUp(collection: Collection<Counted>, _id: string): Promise<number> {
  await collection.insertOne({ _id, count: 0 });
  const answers = await atOnce(() =>
    collection.findOneAndUpdate({ _id }, { $inc: { count: 1 } }, { returnDocument: 'after' }),
  );
  return new Set(answers.map((answer) => answer?.count)).size;
}

async function guard(collection: Collection<Counted>, _id: string): Promise<number> {
  await collection.insertOne({ _id, count: 0 });
  const answers = await atOnce((index) => collection.replaceOne({ _id, count: 0 }, { count: index + 1 }));
  return answers.filter(({ matchedCount }) => matchedCount === 1).length;
}

async function insert(collection: Collection<Counted>, _id: string): Promise<number> {
  const answers = await atOnce((count) =>
    collection.insertOne({ _id, count }).then(
      () => true,
      () => false,
    ),
  );
  return answers.filter(Boolean).length;
}

function atOnce<T>(call: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, (_, index) => call(index)));
}
