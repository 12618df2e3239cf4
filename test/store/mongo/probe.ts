import type { Collection, MongoClient } from 'mongodb';
import { dropDatabase, newDatabase, SERVER, withClient } from './test-database.ts';

/** What a server did with 50 concurrent calls, in the worst of several rounds. */
interface Probe {
  /** Distinct results of `findOneAndUpdate` with `$inc` on one document: 50 if updates are atomic. */
  distinctCounts: number;
  /** Successful updates that expect the same version: 1 if they are guarded. */
  guardedWinners: number;
  /** Successful inserts of one key: 1 if keys are unique. */
  uniqueWinners: number;
}

interface Counted {
  _id: string;
  count: number;
}

const CONCURRENT = 50;
const ROUNDS = 3;

/** Measures whether the server's updates of one document are atomic and guarded, and its keys unique. */
async function probeServer(): Promise<Probe> {
  const database = newDatabase();
  try {
    return await withClient((client) => probe(client, database));
  } finally {
    await dropDatabase(database);
  }
}

function isSafe({ distinctCounts, guardedWinners, uniqueWinners }: Probe): boolean {
  return distinctCounts === CONCURRENT && guardedWinners === 1 && uniqueWinners === 1;
}

/** Probes the server, prints the result in one line, and resolves to whether tests of races can pass on it. */
export async function canRace(): Promise<boolean> {
  if (SERVER.isMissing) return false;
  const result = await probeServer();
  const verdict = isSafe(result) ? 'tests of races run' : 'tests of races are skipped';
  process.stdout.write(`probe of the server: ${JSON.stringify(result)}; ${verdict}\n`);
  return isSafe(result);
}

async function probe(client: MongoClient, database: string): Promise<Probe> {
  const collection = client.db(database).collection<Counted>('probe');
  const worst: Probe = { distinctCounts: CONCURRENT, guardedWinners: 1, uniqueWinners: 1 };
  for (let round = 0; round < ROUNDS; round += 1) {
    worst.distinctCounts = Math.min(worst.distinctCounts, await countUp(collection, `count-${round}`));
    worst.guardedWinners = Math.max(worst.guardedWinners, await guard(collection, `guard-${round}`));
    worst.uniqueWinners = Math.max(worst.uniqueWinners, await insert(collection, `insert-${round}`));
  }
  return worst;
}

async function countUp(collection: Collection<Counted>, _id: string): Promise<number> {
  await collection.insertOne({ _id, count: 0 });
  const answers = await concurrently(() =>
    collection.findOneAndUpdate({ _id }, { $inc: { count: 1 } }, { returnDocument: 'after' }),
  );
  return new Set(answers.map((answer) => answer?.count)).size;
}

async function guard(collection: Collection<Counted>, _id: string): Promise<number> {
  await collection.insertOne({ _id, count: 0 });
  const answers = await concurrently((index) =>
    collection.replaceOne({ _id, count: 0 }, { count: index + 1 }),
  );
  return answers.filter(({ matchedCount }) => matchedCount === 1).length;
}

async function insert(collection: Collection<Counted>, _id: string): Promise<number> {
  const answers = await concurrently((count) =>
    collection.insertOne({ _id, count }).then(
      () => true,
      () => false,
    ),
  );
  return answers.filter(Boolean).length;
}

function concurrently<T>(call: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: CONCURRENT }, (_, index) => call(index)));
}
