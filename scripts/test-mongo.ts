/**
 * Runs the tests of the MongoDB store, each in a database of its own. Further arguments go to vitest. The server is
 *
 * - with `--stand-in`: FerretDB with its SQLite backend, which the first run builds with Go;
 * - with `--stand-in java`: mongo-java-server, which the first run downloads with Maven;
 * - otherwise the one of `MONGODB_URI`, if that is set;
 * - otherwise a replica set of three `mongod`, which the first run downloads.
 */
import { spawn } from 'node:child_process';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { isRequired } from '../test/support/tools.ts';
import { startJavaStandIn } from './java-stand-in.ts';
import type { RunningServer } from './local-server.ts';
import { startStandIn } from './stand-in.ts';

interface Choice {
  /** The value of `HOLDFAST_TEST_STAND_IN` for the tests; null for MongoDB itself. */
  standIn: 'ferretdb' | 'java' | null;
  /** Starts the server. If it is not available, prints the reason and resolves to null. */
  start(): Promise<RunningServer | null>;
  filters: string[];
}

const choice = choose(process.argv.slice(2).filter((argument) => argument !== ''));
const server = await choice.start();
// Without a server the tests are skipped, which is a failure only if `HOLDFAST_TEST_REQUIRE` names `mongo`.
if (server === null) process.exit(isRequired('mongo') ? 1 : 0);
try {
  process.exitCode = await runTests(server.uri, choice);
} finally {
  await server.stop();
}

function choose(args: string[]): Choice {
  const [first, second] = args;
  if (first !== '--stand-in') return { standIn: null, start: useMongo, filters: args };
  return second === 'java'
    ? { standIn: 'java', start: startJavaStandIn, filters: args.slice(2) }
    : { standIn: 'ferretdb', start: startStandIn, filters: args.slice(1) };
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

function runTests(uri: string, { standIn, filters }: Choice): Promise<number> {
  const kind = standIn === null ? {} : { HOLDFAST_TEST_STAND_IN: standIn };
  const env = { ...process.env, ...kind, HOLDFAST_TEST_MONGODB_URI: uri };
  const files = filters.length > 0 ? filters : ['test/store/mongo'];
  const child = spawn('npx', ['vitest', 'run', ...files], { env, stdio: 'inherit' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  });
}
