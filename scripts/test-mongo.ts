/**
 * Runs the tests of the MongoDB store: against the server of `MONGODB_URI` where that is set, in databases of their
 * own, and otherwise against one that it starts and ends: `mongod` as a replica set of three (downloaded by the first
 * run); with `--stand-in` FerretDB with its SQLite backend (built with Go by the first run), with `--stand-in java`
 * mongo-java-server (brought by Maven). Further arguments go to vitest.
 */
import { spawn } from 'node:child_process';
import { MongoMemoryReplSet } from 'mongodb-memory-server-core';
import { isRequired } from '../test/support/tools.ts';
import { startJavaStandIn } from './java-stand-in.ts';
import type { RunningServer } from './local-server.ts';
import { startStandIn } from './stand-in.ts';

interface Choice {
  /** What tests are told in `HOLDFAST_TEST_STAND_IN`; null for MongoDB itself. */
  standIn: 'ferretdb' | 'java' | null;
  /** Resolves to null where there is none, after it has been said; that fails only where `mongo` is required. */
  start(): Promise<RunningServer | null>;
  filters: string[];
}

const choice = choose(process.argv.slice(2).filter((argument) => argument !== ''));
const server = await choice.start();
if (server === null) process.exit(isRequired('mongo') ? 1 : 0);
try {
  process.exitCode = await runTests(server.uri, choice);
} finally {
  await server.stop();
}

function choose(arguments_: string[]): Choice {
  const [first, second] = arguments_;
  if (first !== '--stand-in') return { standIn: null, start: givenOrReplicaSet, filters: arguments_ };
  return second === 'java'
    ? { standIn: 'java', start: startJavaStandIn, filters: arguments_.slice(2) }
    : { standIn: 'ferretdb', start: startStandIn, filters: arguments_.slice(1) };
}

async function givenOrReplicaSet(): Promise<RunningServer> {
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
