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
import { dropDatabase, newDatabase, SERVER, withClient } from './place.ts';

const PATIENCE = { timeout: 60_000, interval: 100 };
const WEB = 'desired-state/apps/web.yaml';
const SECRET = 'hook';

let database: string;
let origin: TestOrigin;

/** A manager as a process, and its own way to origin, on which every fetch is counted. */
interface Follower {
  manager: ProcessManager;
  way: SshOrigin;
}

async function start(): Promise<Follower> {
  const way = await serveSsh(origin.url);
  const manager = await startProcessManager({
    repository: origin.person,
    dataFolder: join(await temporaryFolder(), 'data'),
    env: {
      PATH: way.path,
      GIT_REMOTE: way.url,
      DESIRED_STATE: 'desired-state',
      GIT_POLL_INTERVAL: '2',
      WEBHOOK_SECRET: SECRET,
      MONGODB_URI: SERVER.uri,
      MONGODB_DATABASE: database,
    },
  });
  return { manager, way };
}

async function statusOf({ manager }: Follower) {
  return (await manager.request('GET', '/api/v2/reconcile')).body;
}

/** The first one asks origin, and both know it. */
async function startTwo(): Promise<[asker: Follower, other: Follower]> {
  const asker = await start();
  await vi.waitFor(async () => expect((await statusOf(asker)).origin.polled_by).not.toBeNull(), PATIENCE);
  const other = await start();
  const { polled_by } = (await statusOf(asker)).origin;
  await vi.waitFor(
    async () => expect((await statusOf(other)).origin).toMatchObject({ polls: false, polled_by }),
    PATIENCE,
  );
  return [asker, other];
}

async function lease(): Promise<LeaseDocument | null> {
  return withClient((client) =>
    client.db(database).collection<LeaseDocument>('state').findOne({ _id: 'poll' }),
  );
}

function follows(one: Follower, revision: string): Promise<void> {
  return vi.waitFor(
    async () =>
      expect(await statusOf(one)).toMatchObject({
        state: 'applied',
        revision_applied: revision,
        error: null,
      }),
    PATIENCE,
  );
}

function asks(one: Follower): Promise<void> {
  return vi.waitFor(async () => {
    const { polls, polled_by } = (await statusOf(one)).origin;
    expect([polls, typeof polled_by]).toEqual([true, 'string']);
  }, PATIENCE);
}

/** What the figure says, as of the last pass. */
async function figureOf({ manager }: Follower): Promise<string | undefined> {
  const { text } = await manager.request('GET', '/metrics');
  return /^holdfast_polls_origin (\d)$/m.exec(text)?.[1];
}

/** Resolves when origin was asked by this one so many times more. */
async function asked(one: Follower, times: number): Promise<void> {
  const before = await one.way.fetches();
  while ((await one.way.fetches()) < before + times) await sleep(50);
}

describe.skipIf(SERVER.isMissing)('two managers that look at one origin by the clock', SERVER.limits, () => {
  beforeEach(async () => {
    database = newDatabase();
    origin = await testOrigin(SMALL_FLEET);
  });
  afterEach(() => dropDatabase(database));

  it('ask once: the other one looks at the store, and fetches what a person has pushed', async () => {
    const [asker, other] = await startTwo();
    const [before, reached] = [await other.way.fetches(), (await statusOf(other)).origin.reached_at];
    await asked(asker, 5);
    expect(await other.way.fetches()).toBe(before);
    expect((await statusOf(other)).origin.reached_at).toBe(reached);
    expect([await figureOf(asker), await figureOf(other)]).toEqual(['1', '0']);
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await Promise.all([follows(asker, revision), follows(other, revision)]);
    expect(await other.way.fetches()).toBe(before + 1);
    expect((await statusOf(other)).origin.reached_at).not.toBe(reached);
  });

  it('tell both that a revision is refused', async () => {
    const [asker, other] = await startTwo();
    const refused = await origin.push({
      [WEB]: null,
      'desired-state/apps/cron.yaml': null,
      'desired-state/device-groups/edge.yaml': null,
    });
    for (const one of [asker, other]) {
      await vi.waitFor(
        async () =>
          expect(await statusOf(one)).toMatchObject({ state: 'refused', revision_attempted: refused }),
        PATIENCE,
      );
    }
    const before = await other.way.fetches();
    await asked(asker, 3);
    expect(await other.way.fetches()).toBe(before);
  });

  it('go on when the one that asks is killed: the other takes over, and follows', async () => {
    const [asker, other] = await startTwo();
    await asker.manager.kill();
    await asks(other);
    await asked(other, 2);
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await follows(other, revision);
    const back = await start();
    await vi.waitFor(async () => expect((await statusOf(back)).origin.polls).toBe(false), PATIENCE);
  });

  it('go on when the one that asks is stopped: it leaves the lease free', async () => {
    const [asker, other] = await startTwo();
    const held = await lease();
    expect(held?.holder?.name).toBe((await statusOf(other)).origin.polled_by);
    expect(await asker.manager.stop()).toBe(0);
    const left = await lease();
    expect(left?.holder?.id).not.toBe(held?.holder?.id);
    await asks(other);
  });

  it('go on when the one that asks loses its way to origin: the other asks, the first says why', async () => {
    const [asker, other] = await startTwo();
    await asker.way.behave('exit 1\n');
    await asks(other);
    expect(await statusOf(asker)).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await follows(other, revision);
    await asker.way.behave('');
    await follows(asker, revision);
    await vi.waitFor(async () => expect((await statusOf(asker)).origin.polls).toBe(false), PATIENCE);
    expect((await statusOf(other)).origin.polls).toBe(true);
  });

  it('ask at once where a hook says so, also the one that does not ask by the clock', async () => {
    const [, other] = await startTwo();
    const before = await other.way.fetches();
    const signature = createHmac('sha256', SECRET).update('{}').digest('hex');
    const reply = await fetch(`${other.manager.address}/webhook`, {
      method: 'POST',
      body: '{}',
      headers: { 'x-hub-signature-256': `sha256=${signature}` },
    });
    expect(reply.status).toBe(202);
    await vi.waitFor(async () => expect(await other.way.fetches()).toBe(before + 1), PATIENCE);
    expect((await statusOf(other)).origin.polls).toBe(false);
  });

  it('write by turns while one of them asks', async () => {
    const [asker, other] = await startTwo();
    for (const [turn, one] of [other, asker, other].entries()) {
      const body = { container_image: `nginx:${turn}` };
      const reply = await one.manager.request('PUT', '/api/v2/apps/web/update', body);
      expect(reply.status, reply.text).toBe(202);
    }
    const revision = await origin.bare.git('rev-parse', 'main');
    await Promise.all([follows(asker, revision), follows(other, revision)]);
  });
});
