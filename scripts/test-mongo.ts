/**
 * Runs the tests of the MongoDB store against a server that it starts and ends: `mongod` as a replica set of
 * three (downloaded by the first run), or with `--stand-in` FerretDB with its SQLite backend (built with Go by the
 * first run). Further arguments go to vitest.
 */
import { spawn } from 'node:child_process';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { startStandIn } from './stand-in.ts';

interface Server {
  uri: string;
  stop(): Promise<void>;
}

const [first, ...rest] = process.argv.slice(2);
const isStandIn = first === '--stand-in';
const filters = (isStandIn ? rest : process.argv.slice(2)).filter((argument) => argument !== '');
const server = isStandIn ? await startStandIn() : await startReplicaSet();
if (server === null) process.exit(0);
try {
  process.exitCode = await runTests(server.uri, filters.length > 0 ? filters : ['test/store/mongo']);
} finally {
  await server.stop();
}

async function startReplicaSet(): Promise<Server> {
  const set = await MongoMemoryReplSet.create({ replSet: { count: 3, storageEngine: 'wiredTiger' } });
  return {
    uri: set.getUri(),
    stop: async () => {
      await set.stop();
    },
  };
}

function runTests(uri: string, filters: readonly string[]): Promise<number> {
  const kind = isStandIn ? { HOLDFAST_TEST_STAND_IN: 'true' } : {};
  const env = { ...process.env, ...kind, HOLDFAST_TEST_MONGODB_URI: uri };
  const child = spawn('npx', ['vitest', 'run', ...filters], { env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
