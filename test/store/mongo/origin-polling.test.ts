import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../support/folder.ts';
import { SMALL_FLEET } from '../../support/manager.ts';
import { type TestOrigin, testOrigin } from '../../support/origin.ts';
import { type ProcessManager, startProcessManager } from '../../support/process-manager.ts';
import { type SshOrigin, serveSsh } from '../../support/ssh-origin.ts';
import { dropDatabase, newDatabase, SERVER } from './test-database.ts';

const LIMITS = { timeout: 60_000, interval: 100 };
const WEB = 'desired-state/apps/web.yaml';

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
      MONGODB_URI: SERVER.uri,
      MONGODB_DATABASE: database,
    },
  });
  return { manager, ssh };
}

async function statusOf({ manager }: Follower) {
  return (await manager.request('GET', '/api/v2/reconcile')).body;
}

function startTwo(): Promise<[Follower, Follower]> {
  return Promise.all([start(), start()]);
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

describe.skipIf(SERVER.isMissing)('two managers on one store that poll one origin', SERVER.limits, () => {
  beforeEach(async () => {
    database = newDatabase();
    origin = await testOrigin(SMALL_FLEET);
  });
  afterEach(() => dropDatabase(database));

  it('each poll it: both apply what a user has pushed, and the one that is left if the other is killed', async () => {
    const [one, other] = await startTwo();
    const before = [await one.ssh.fetches(), await other.ssh.fetches()];
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await Promise.all([expectApplied(one, revision), expectApplied(other, revision)]);
    expect(await one.ssh.fetches()).toBeGreaterThan(before[0] ?? 0);
    expect(await other.ssh.fetches()).toBeGreaterThan(before[1] ?? 0);
    await one.manager.kill();
    await expectApplied(other, await origin.push({ [WEB]: 'container_image: web:3\n' }));
  });

  it('both report a refused revision', async () => {
    const both = await startTwo();
    const refused = await origin.push({
      [WEB]: null,
      'desired-state/apps/cron.yaml': null,
      'desired-state/device-groups/edge.yaml': null,
    });
    for (const one of both) {
      await vi.waitFor(
        async () =>
          expect(await statusOf(one)).toMatchObject({ state: 'refused', revision_attempted: refused }),
        LIMITS,
      );
    }
  });

  it('report it if one of them cannot reach origin, which follows again once it can', async () => {
    const [one, other] = await startTwo();
    await one.ssh.behave('exit 1\n');
    await vi.waitFor(
      async () =>
        expect(await statusOf(one)).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } }),
      LIMITS,
    );
    const revision = await origin.push({ [WEB]: 'container_image: web:2\n' });
    await expectApplied(other, revision);
    await one.ssh.behave('');
    await expectApplied(one, revision);
  });

  it('can write alternately', async () => {
    const [first, other] = await startTwo();
    for (const [turn, one] of [other, first, other].entries()) {
      const body = { container_image: `nginx:${turn}` };
      const reply = await one.manager.request('PUT', '/api/v2/apps/web/update', body);
      expect(reply.status, reply.text).toBe(202);
    }
    const revision = await origin.bare.git('rev-parse', 'main');
    await Promise.all([expectApplied(first, revision), expectApplied(other, revision)]);
  });
});
