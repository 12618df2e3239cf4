import { rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRemote } from '../../src/source/git/mirror/remote.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { remoteOptions, startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';

const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

/** Takes origin away; checks that reads, polls and operations go on, and that a write gets 503 and changes nothing. */
async function expectOnlyWritesFail(
  manager: TestManager,
  takeAwayOrigin: () => Promise<unknown>,
): Promise<void> {
  const before = await Promise.all([manager.get(INFO), manager.get(WEB)]);
  await takeAwayOrigin();
  const { body } = await manager.reconcile();
  expect(body).toMatchObject({ state: 'failing', error: { kind: 'unavailable' } });
  expect(body.origin.error.since).toMatch(/^\d{4}-/);
  const write = await manager.put(`${WEB}/update`, { container_image: 'lost:1' });
  expect(write.status).toBe(503);
  const after = await Promise.all([manager.get(INFO), manager.get(WEB)]);
  expect(after.map(({ text }) => text)).toEqual(before.map(({ text }) => text));
  expect((await manager.get('/readyz')).status).toBe(200);
  expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
  expect((await manager.get('/metrics')).text).toMatch(/holdfast_failures_in_a_row [1-9]/);
}

/** Checks that pushes are applied and writes arrive at origin again, without a restart. */
async function expectRecovered(manager: TestManager, origin: TestOrigin): Promise<void> {
  const id = await origin.push({ 'desired-state/apps/recovered.yaml': 'container_image: recovered\n' });
  expect((await manager.reconcile()).body).toMatchObject({
    state: 'applied',
    error: null,
    revision_applied: id,
    origin: { address: expect.stringMatching(/^\S+$/), error: null },
  });
  expect((await manager.put(`${WEB}/update`, { container_image: 'recovered:1' })).status).toBe(202);
  expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('recovered:1');
}

describe('while origin is unreachable', () => {
  it('only writes fail, and the manager recovers once origin is back', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await expectOnlyWritesFail(manager, () => rename(origin.url, `${origin.url}.away`));
    await rename(`${origin.url}.away`, origin.url);
    await expectRecovered(manager, origin);
    expect(manager.log.map(({ msg }) => msg)).toContain('origin works again');
  });

  it('a first start answers devices and reads with 503, and recovers once origin is back', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await rename(origin.url, `${origin.url}.away`);
    const manager = await startFollower(origin);
    const info = await manager.get(INFO);
    expect(info.status).toBe(503);
    expect(info.headers.get('content-type')).toMatch(/^text\/plain/);
    expect((await manager.get('/readyz')).status).toBe(503);
    // It is not known yet which apps there are, so neither an empty list nor 404 would be true.
    for (const path of ['/api/v2/apps', WEB, '/api/v2/device_groups'])
      expect((await manager.get(path)).status, path).toBe(503);
    expect((await manager.get('/api/v2/reconcile')).status).toBe(200);
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a' })).status).toBe(503);
    await rename(`${origin.url}.away`, origin.url);
    await expect.poll(async () => (await manager.get(INFO)).status, { timeout: 60_000 }).toBe(200);
  });
});

describe('an origin that hangs', () => {
  // The time limit of one second also holds for the writes after the hang, so on a slow machine several may fail.
  it('before it takes a push fails the write within the time limit, and the write never arrives', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { GIT_TIMEOUT: '1' } });
    const hook = join(origin.url, 'hooks/pre-receive');
    await writeFile(hook, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    const before = await origin.bare.git('rev-parse', 'main');
    const reply = await manager.put(`${WEB}/update`, { container_image: 'hung:1' });
    expect(reply.status).toBe(503);
    expect(reply.body.error).toContain('did not respond in time');
    expect(await origin.bare.git('rev-parse', 'main')).toBe(before);
    await rm(hook);
    const write = async () => (await manager.put(`${WEB}/update`, { container_image: 'recovered:1' })).status;
    await expect.poll(write).toBe(202);
    const status = async () => (await manager.reconcile()).body;
    await expect.poll(status).toMatchObject({ state: 'applied', error: null, origin: { error: null } });
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toContain('recovered:1');
    expect(await origin.bare.git('log', '--format=%s', 'main')).not.toContain('hung:1');
  });

  // A push has to arrive within two seconds, so on a slow machine the first ones may fail.
  it('after it took a push: the write is found to have arrived and succeeds', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin, { settings: { GIT_TIMEOUT: '2' } });
    const hook = join(origin.url, 'hooks/post-receive');
    await writeFile(hook, '#!/bin/sh\nexec sleep 600\n', { mode: 0o755 });
    let image = '';
    let tries = 0;
    // A new image each time: repeating a write that has arrived would also be answered with 202.
    const write = async () => {
      image = `slow:${++tries}`;
      return (await manager.put(`${WEB}/update`, { container_image: image })).status;
    };
    await expect.poll(write).toBe(202);
    expect((await manager.get(WEB)).body.container_image).toBe(image);
    const subjects = (await origin.bare.git('log', '--format=%s', 'main')).split('\n');
    expect(subjects.filter((subject) => subject.endsWith(`-> ${image}`))).toEqual([subjects[0]]);
  });

  it('without answering a connection is reported as not responding in time', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const limit = { total: 20_000, silence: 500 };
    const source = await openRemote({
      ...remoteOptions(`https://127.0.0.1:${port}/fleet.git`, await temporaryFolder()),
      limits: { first: limit, patient: limit, usual: limit },
    });
    onTestFinished(source.close);
    await expect(source.origin.refresh()).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'origin did not respond in time',
    });
  });
});

describe('an origin that does not accept pushes', () => {
  it('because of a stale lock of the branch: a write gets 409 with the name of the lock', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const lock = join(origin.bare.folder, 'refs/heads/main.lock');
    await writeFile(lock, '');
    const reply = await manager.put(`${WEB}/update`, { container_image: 'web:2' });
    expect([reply.status, reply.text]).toEqual([409, expect.stringContaining('refs/heads/main.lock')]);
    await rm(lock);
    expect((await manager.put(`${WEB}/update`, { container_image: 'web:2' })).status).toBe(202);
  });

  it.each([
    [
      'cannot write the branch',
      {
        spoil: async ({ bare }: TestOrigin) => {
          await bare.git('pack-refs', '--all');
          await rm(join(bare.folder, 'refs/heads'), { recursive: true });
          // As if rights were missing; the tests may run as root, whom mode bits do not stop.
          await symlink('nowhere/heads', join(bare.folder, 'refs/heads'));
        },
        repair: ({ bare }: TestOrigin) => rm(join(bare.folder, 'refs/heads')),
        message: 'origin does not update the branch, although nobody else has: ',
      },
    ],
    [
      'hides the branch from pushes',
      {
        spoil: ({ bare }: TestOrigin) => bare.git('config', 'receive.hideRefs', 'refs/heads'),
        repair: ({ bare }: TestOrigin) => bare.git('config', '--unset', 'receive.hideRefs'),
        message:
          'origin hides the branch from pushes; make it show refs/heads (transfer.hideRefs, receive.hideRefs)',
      },
    ],
    [
      'cannot keep the objects of a push',
      {
        spoil: ({ bare }: TestOrigin) => bare.git('config', 'receive.maxInputSize', '1'),
        repair: ({ bare }: TestOrigin) => bare.git('config', '--unset', 'receive.maxInputSize'),
        message: 'origin rejected the push: unpacker error: fatal: pack exceeds maximum allowed size',
      },
    ],
    [
      'has a hook that refuses ref updates',
      {
        spoil: ({ bare }: TestOrigin) =>
          writeFile(join(bare.folder, 'hooks/reference-transaction'), '#!/bin/sh\nexit 1\n', { mode: 0o755 }),
        repair: ({ bare }: TestOrigin) => rm(join(bare.folder, 'hooks/reference-transaction')),
        message: 'origin rejected the push: reference-transaction hook declined',
      },
    ],
  ])('because it %s: a write gets 409 with the reason and changes nothing', async (_, row) => {
    const { spoil, repair, message } = row;
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const tip = await origin.bare.git('rev-parse', 'main');
    await spoil(origin);
    const reply = await manager.put(`${WEB}/update`, { container_image: 'web:2' });
    expect([reply.status, reply.body.error]).toEqual([409, expect.stringContaining(message)]);
    expect(await origin.bare.git('rev-parse', 'main')).toBe(tip);
    await repair(origin);
    expect((await manager.put(`${WEB}/update`, { container_image: 'web:2' })).status).toBe(202);
  });
});

describe('a branch at origin', () => {
  it('that was deleted: only writes fail, the status names the other branches, and the manager recovers', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.bare.git('branch', 'kept', 'main');
    await expectOnlyWritesFail(manager, () => origin.bare.git('update-ref', '-d', 'refs/heads/main'));
    expect((await manager.get('/api/v2/reconcile')).body.error.message).toBe(
      'origin has no branch "main" any more; check GIT_BRANCH, or create the branch (there are: kept)',
    );
    await origin.bare.git('branch', 'main', 'kept');
    await expectRecovered(manager, origin);
  });

  it('of a repository that replaced another one is applied as a rewritten history, and ids rise', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = (await manager.get(WEB)).body.app_id;
    const other = await testOrigin({ ...SMALL_FLEET, 'apps/web.yaml': 'container_image: other:1\n' });
    await rm(origin.url, { recursive: true });
    await rename(other.url, origin.url);
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({ state: 'applied', history_rewritten: { from: expect.any(String) } });
    const after = (await manager.get(WEB)).body;
    expect(after.container_image).toBe('other:1');
    expect(after.app_id).toBeGreaterThan(before);
    expect(manager.log.map(({ msg }) => msg)).toContain('history was rewritten');
  });

  it('that a forced push moved back is applied, and ids still rise', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.push({ 'desired-state/apps/web.yaml': 'container_image: v2\n' });
    await manager.reconcile();
    const before = (await manager.get(WEB)).body.app_id;
    await origin.user.git('reset', '--quiet', '--hard', 'HEAD~1');
    await origin.user.git('push', '--quiet', '--force', 'origin', 'HEAD:main');
    expect((await manager.reconcile()).body.history_rewritten).not.toBeNull();
    expect((await manager.get(WEB)).body).toMatchObject({
      container_image: 'nginx:1.26',
      app_id: before + 1,
    });
  });

  it('from which the folder was deleted is refused: the last good state stays in service', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.user.git('rm', '-r', '--quiet', 'desired-state');
    await origin.user.git('commit', '--quiet', '-m', 'oops');
    await origin.user.git('push', '--quiet', 'origin', 'HEAD:main');
    expect((await manager.reconcile()).body).toMatchObject({ state: 'refused', error: { kind: 'refused' } });
    expect((await manager.get('/api/v2/apps')).body.apps).toHaveLength(2);
  });
});

describe('the log of writes that fail for one reason outside of the manager', () => {
  it.each([
    ['origin is away', (url: string) => rename(url, `${url}.away`)],
    [
      'a hook of origin refuses the push',
      (url: string) =>
        writeFile(join(url, 'hooks/pre-receive'), '#!/bin/sh\necho no; exit 1\n', { mode: 0o755 }),
    ],
  ])(
    'has a line with the reason for each, and the causes once, without a stack: %s',
    async (_, breakOrigin) => {
      const origin = await testOrigin(SMALL_FLEET);
      const manager = await startFollower(origin);
      await breakOrigin(origin.url);
      const statuses = new Set<number>();
      for (let count = 0; count < 3; count++)
        statuses.add((await manager.put(`${WEB}/update`, { container_image: `nginx:3.${count}` })).status);
      const lines = (text: string) => manager.log.filter(({ msg }) => msg === text);
      const [status = 0] = statuses;
      expect(statuses).toEqual(new Set([status]));
      await expect.poll(() => lines('request').length).toBe(3);
      expect(lines('request')).toMatchObject(
        Array(3).fill({ status, reason: expect.stringMatching(/origin|GIT_REMOTE/) }),
      );
      expect(lines('request failed')).toMatchObject(
        status === 409 ? [] : [{ kind: 'unavailable', refused: 1 }],
      );
      expect(JSON.stringify(manager.log)).not.toContain('"stack"');
    },
  );
});
