/**
 * Runs the tests of the MongoDB store, each in a database of its own. Further arguments go to vitest. The server is
 *
 * - with `--stand-in`: mongo-java-server, which the first run downloads with Maven;
 * - otherwise the one of `MONGODB_URI`, if that is set;
 * - otherwise a replica set of three `mongod`, which the first run downloads.
 */
import { spawn } from 'node:child_process';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { isRequired } from '../test/support/tools.ts';
import { type RunningServer, startStandIn } from './stand-in.ts';

const args = process.argv.slice(2).filter((argument) => argument !== '');
const isOnStandIn = args[0] === '--stand-in';
const server = await (isOnStandIn ? startStandIn() : useMongo());
// Without a server the tests are skipped, which is a failure only if `HOLDFAST_TEST_REQUIRE` names `mongo`.
if (server === null) process.exit(isRequired('mongo') ? 1 : 0);
try {
  process.exitCode = await runTests(server.uri, isOnStandIn ? args.slice(1) : args);
} finally {
  await server.stop();
}

async function useMongo(): Promise<RunningServer> {
  const uri = process.env['MONGODB_URI'];
  return uri === undefined ? startReplicaSet() : { uri, stop: () => Promise.resolve() };
}

async function startReplicaSet(): Promise<RunningServer> {
  const set = await MongoMemoryReplSet.create({ replSet: { count: 3, storageEngine: 'wiredTiger' } });
  return {
    uri: set.getUri(),
    stop: async () => {
      await set.stop();
    },
  };
}

function runTests(uri: string, filters: string[]): Promise<number> {
  const kind = isOnStandIn ? { HOLDFAST_TEST_STAND_IN: '1' } : {};
  const env = { ...process.env, ...kind, HOLDFAST_TEST_MONGODB_URI: uri };
  const files = filters.length > 0 ? filters : ['test/store/mongo'];
  const child = spawn('npx', ['vitest', 'run', ...files], { env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
