import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../support/folder.ts';
import { SMALL_FLEET } from '../../support/manager.ts';
import { type Judge, MongoProxy } from '../../support/mongo-proxy.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';
import {
  type ProcessManager,
  type ProcessOptions,
  spawnManager,
  startProcessManager,
} from '../../support/process-manager.ts';
import { appId } from '../contract/support.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER } from './place.ts';

const PATIENCE = { timeout: 60_000, interval: 50 };
const UPDATES: Judge = (command) => (command === 'update' ? 'hang' : 'pass');
const READS: Judge = (command) => (command === 'find' ? 'hang' : 'pass');
const EVERYTHING: Judge = () => 'hang';

let database: string;
let proxy: MongoProxy;
let origin: TestOrigin;
let options: ProcessOptions;

beforeEach(async () => {
  if (SERVER.isMissing) return;
  database = newDatabase();
  proxy = await MongoProxy.start(SERVER.uri);
  origin = await testOrigin(SMALL_FLEET);
  options = {
    repository: origin.person,
    dataFolder: join(await temporaryFolder(), 'data'),
    env: {
      MONGODB_URI: proxy.uri,
      MONGODB_DATABASE: database,
      GIT_REMOTE: origin.url,
      DESIRED_STATE: 'desired-state',
      GIT_POLL_INTERVAL: '1',
    },
  };
});
afterEach(async () => {
  if (SERVER.isMissing) return;
  await proxy.stop();
  await dropDatabase(database);
});

/** Judges commands so from now on, and resolves when one of those that it does not let pass has come. */
async function judge(by: Judge): Promise<void> {
  let hasCome = false;
  proxy.judge((command, count) => {
    const verdict = by(command, count);
    if (verdict !== 'pass') hasCome = true;
    return verdict;
  });
  await vi.waitFor(() => expect(hasCome).toBe(true), PATIENCE);
}

const restart = (manager: ProcessManager) => manager.request('POST', '/api/v2/apps/web/restart');
const update = (manager: ProcessManager) =>
  manager.request('PUT', '/api/v2/apps/web/update', { container_image: 'web:2' });
const look = (manager: ProcessManager) => manager.request('POST', '/api/v2/reconcile');

describe.skipIf(SERVER.isMissing)(
  'a manager whose database does not answer ends when told',
  SERVER.limits,
  () => {
    it.each([
      ['a restart', restart, UPDATES],
      ['a write', update, UPDATES],
      ['a look', look, READS],
      ['a look, and the watch of the driver', look, EVERYTHING],
    ])('in the middle of %s', async (_what, act, by) => {
      const manager = await startProcessManager(options);
      const judged = judge(by);
      const reply = act(manager).catch(() => null);
      await judged;
      expect(await manager.stop(), manager.process.output()).toBe(0);
      expect((await reply)?.status).not.toBe(202);
    });

    it('in the middle of its start', async () => {
      const judged = judge(READS);
      const started = spawnManager(options);
      await judged;
      started.child.kill('SIGTERM');
      expect(await started.ended, started.output()).toBe(0);
    });

    it('with more restarts under way than there is time for: those that were answered count', async () => {
      const manager = await startProcessManager(options);
      const store = await openDatabase(database);
      const before = (await appId(store, 'web')) ?? 0;
      proxy.judge(() => 'delay');
      const replies = Array.from({ length: 300 }, () => restart(manager).catch(() => null));
      await Promise.any(replies.map(async (reply) => expect((await reply)?.status).toBe(202)));
      expect(await manager.stop(), manager.process.output()).toBe(0);
      const answered = (await Promise.all(replies)).filter((reply) => reply?.status === 202);
      expect(answered.length).toBeGreaterThan(0);
      const after = (await appId(store, 'web')) ?? 0;
      expect(after - before).toBeGreaterThanOrEqual(answered.length);
      expect(await store.operations(null, 500)).toHaveLength(after - before);
      await store.close();
    });
  },
);
