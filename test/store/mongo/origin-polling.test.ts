import { createHmac } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LeaseDocument } from '../../../src/store/mongo/documents.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { SMALL_FLEET } from '../../support/manager.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';
import { type ProcessManager, startProcessManager } from '../../support/process-manager.ts';
import { type SshOrigin, serveSsh } from '../../support/ssh-origin.ts';
import { dropDatabase, newDatabase, SERVER, withClient } from './test-database.ts';

const LIMITS = { timeout: 60_000, interval: 100 };
const WEB = 'desired-state/apps/web.yaml';
const SECRET = 'hook';

let database: string;
let origin: TestOrigin;

/** A manager as a process, and its own connection to origin, which counts the fetches. */
interface Follower {
  manager: ProcessManager;
  ssh: SshOrigin;
}

async function start(): Promise<Follower> {
  const ssh = await serveSsh(origin.url);
  const manager = await startProcessManager({
    repository: origin.user,
    dataFolder: join(await temporaryFolder(), 'data'),
    env: {
      PATH: ssh.path,
      GIT_REMOTE: ssh.url,
      DESIRED_STATE: 'desired-state',
      GIT_POLL_INTERVAL: '2',
      WEBHOOK_SECRET: SECRET,
      MONGODB_URI: SERVER.uri,
      MONGODB_DATABASE: database,
    },
  });
  return { manager, ssh };
}

async function statusOf({ manager }: Follower) {
  return (await manager.request('GET', '/api/v2/reconcile')).body;
}

/** Starts two managers, of which the first polls origin, and waits until both report that. */
async function startTwo(): Promise<[poller: Follower, other: Follower]> {
  const poller = await start();
  await vi.waitFor(async () => expect((await statusOf(poller)).origin.polled_by).not.toBeNull(), LIMITS);
  const other = await start();
  const { polled_by } = (await statusOf(poller)).origin;
  await vi.waitFor(
    async () => expect((await statusOf(other)).origin).toMatchObject({ polls: false, polled_by }),
    LIMITS,
  );
  return [poller, other];
}

async function lease(): Promise<LeaseDocument | null> {
  return withClient((client) =>
    client.db(database).collection<LeaseDocument>('state').findOne({ _id: 'poll' }),
  );
}

/** Waits until a manager has applied a revision without an error. */
function expectApplied(one: Follower, revision: string): Promise<void> {
  return vi.waitFor(
    async () =>
      expect(await statusOf(one)).toMatchObject({
        state: 'applied',
        revision_applied: revision,
        error: null,
      }),
    LIMITS,
  );
}

/** Waits until a manager reports that it polls origin. */
function expectPolls(one: Follower): Promise<void> {
  return vi.waitFor(async () => {
    const { polls, polled_by } = (await statusOf(one)).origin;
    expect([polls, typeof polled_by]).toEqual([true, 'string']);
  }, LIMITS);
}

/** The metric `holdfast_polls_origin`, which each pass sets. */
async function pollsMetric({ manager }: Follower): Promise<string | undefined> {
  const { text } = await manager.request('GET', '/metrics');
  return /^holdfast_polls_origin (\d)$/m.exec(text)?.[1];
}

/** Resolves when a manager has polled origin this many more times. */
async function polled(one: Follower, times: number): Promise<void> {
  const before = await one.ssh.fetches();
  while ((await one.ssh.fetches()) < before + times) await sleep(50);
}

describe.skipIf(SERVER.isMissing)('two managers on one store that poll one origin', SERVER.limits, () => {
  beforeEach(async () => {
    database = newDatabase();
    origin = await testOrigin(SMALL_FLEET);
  });
  afterEach(() => dropDatabase(database));

  it('leave the polling to one of them; the other follows the store, and fetches what a user has pushed', async () => {
    const [poller, other] = await startTwo();
    const [before, reached] = [await other.ssh.fetches(), (await statusOf(other)).origin.reached_at];
    await polled(poller, 5);
    expect(await other.ssh.fetches()).toBe(before);
    expect((await statusOf(other)).origin.reached_at).toBe(reached);
    expect([await pollsMetric(poller), await pollsMetric(other)]).toEqual(['1', '0']);
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await Promise.all([expectApplied(poller, revision), expectApplied(other, revision)]);
    expect(await other.ssh.fetches()).toBe(before + 1);
    expect((await statusOf(other)).origin.reached_at).not.toBe(reached);
  });

  it('both report a refused revision, which the other does not fetch again and again', async () => {
    const [poller, other] = await startTwo();
    const refused = await origin.push({
      [WEB]: null,
      'desired-state/apps/cron.yaml': null,
      'desired-state/device-groups/edge.yaml': null,
    });
    for (const one of [poller, other]) {
      await vi.waitFor(
        async () =>
          expect(await statusOf(one)).toMatchObject({ state: 'refused', revision_attempted: refused }),
        LIMITS,
      );
    }
    const before = await other.ssh.fetches();
    await polled(poller, 3);
    expect(await other.ssh.fetches()).toBe(before);
  });

  it('keep polling if the one that polls is killed: the other takes over, and a third one does not poll', async () => {
    const [poller, other] = await startTwo();
    await poller.manager.kill();
    await expectPolls(other);
    await polled(other, 2);
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await expectApplied(other, revision);
    const back = await start();
    await vi.waitFor(async () => expect((await statusOf(back)).origin.polls).toBe(false), LIMITS);
  });

  it('keep polling if the one that polls is stopped: it releases the lease, and the other takes over', async () => {
    const [poller, other] = await startTwo();
    const held = await lease();
    expect(held?.holder?.name).toBe((await statusOf(other)).origin.polled_by);
    expect(await poller.manager.stop()).toBe(0);
    const left = await lease();
    expect(left?.holder?.id).not.toBe(held?.holder?.id);
    await expectPolls(other);
  });

  it('keep polling if the one that polls cannot reach origin: it reports why, and the other takes over', async () => {
    const [poller, other] = await startTwo();
    await poller.ssh.behave('exit 1\n');
    await expectPolls(other);
    expect(await statusOf(poller)).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await expectApplied(other, revision);
    await poller.ssh.behave('');
    await expectApplied(poller, revision);
    await vi.waitFor(async () => expect((await statusOf(poller)).origin.polls).toBe(false), LIMITS);
    expect((await statusOf(other)).origin.polls).toBe(true);
  });

  it('fetch at once when their webhook is called, even the one that does not poll', async () => {
    const [, other] = await startTwo();
    const before = await other.ssh.fetches();
    const signature = createHmac('sha256', SECRET).update('{}').digest('hex');
    const reply = await fetch(`${other.manager.address}/webhook`, {
      method: 'POST',
      body: '{}',
      headers: { 'x-hub-signature-256': `sha256=${signature}` },
    });
    expect(reply.status).toBe(202);
    await vi.waitFor(async () => expect(await other.ssh.fetches()).toBe(before + 1), LIMITS);
    expect((await statusOf(other)).origin.polls).toBe(false);
  });

  it('can write alternately while one of them polls', async () => {
    const [poller, other] = await startTwo();
    for (const [turn, one] of [other, poller, other].entries()) {
      const body = { container_image: `nginx:${turn}` };
      const reply = await one.manager.request('PUT', '/api/v2/apps/web/update', body);
      expect(reply.status, reply.text).toBe(202);
    }
    const revision = await origin.bare.git('rev-parse', 'main');
    await Promise.all([expectApplied(poller, revision), expectApplied(other, revision)]);
  });
});
