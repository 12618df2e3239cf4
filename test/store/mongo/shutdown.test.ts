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
import { appId, operationsOf } from '../contract/support.ts';
import { dropDatabase, newDatabase, openDatabase, SERVER } from './test-database.ts';

const LIMITS = { timeout: 60_000, interval: 50 };
const HANG_UPDATES: Judge = (command) => (command === 'update' ? 'hang' : 'pass');
const HANG_READS: Judge = (command) => (command === 'find' ? 'hang' : 'pass');
const HANG_EVERYTHING: Judge = () => 'hang';

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
    repository: origin.user,
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

/** Has the proxy judge commands from now on; resolves when it has held up the first one. */
async function holdUp(judge: Judge): Promise<void> {
  let isHeldUp = false;
  proxy.judge((command, count) => {
    const verdict = judge(command, count);
    if (verdict !== 'pass') isHeldUp = true;
    return verdict;
  });
  await vi.waitFor(() => expect(isHeldUp).toBe(true), LIMITS);
}

const restart = (manager: ProcessManager) => manager.request('POST', '/api/v2/apps/web/restart');
const update = (manager: ProcessManager) =>
  manager.request('PUT', '/api/v2/apps/web/update', { container_image: 'web:2' });
const reconcile = (manager: ProcessManager) => manager.request('POST', '/api/v2/reconcile');

describe.skipIf(SERVER.isMissing)(
  'a manager whose database does not answer, when it is stopped',
  SERVER.limits,
  () => {
    it.each([
      ['a restart', restart, HANG_UPDATES],
      ['a write', update, HANG_UPDATES],
      ['a reconcile', reconcile, HANG_READS],
      ['a reconcile and the driver’s checks of the server', reconcile, HANG_EVERYTHING],
    ])('ends with 0 during %s, which does not get 202', async (_request, act, judge) => {
      const manager = await startProcessManager(options);
      const heldUp = holdUp(judge);
      const reply = act(manager).catch(() => null);
      await heldUp;
      expect(await manager.stop(), manager.process.output()).toBe(0);
      expect((await reply)?.status).not.toBe(202);
    });

    it('ends with 0 during its start', async () => {
      const heldUp = holdUp(HANG_READS);
      const started = spawnManager(options);
      await heldUp;
      started.child.kill('SIGTERM');
      expect(await started.ended, started.output()).toBe(0);
    });

    it('ends with 0 if more restarts wait than there is time for, and those that it has acknowledged count', async () => {
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
      expect(await operationsOf(store)).toHaveLength(after - before);
      await store.close();
    });
  },
);
