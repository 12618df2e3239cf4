import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HAS_OPENSSL, serveHttps } from '../support/https-origin.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { slowProxy } from '../support/slow-proxy.ts';
import { ENDLESS_MESSAGES, serveSsh } from '../support/ssh-origin.ts';

const WEB = 'desired-state/apps/web.yaml';
const UPDATE = '/api/v2/apps/web/update';
const INFO = '/api/v2/device_groups/edge/info';

/** Waits until a manager has applied a revision. Managers of these tests do not poll, so this shows that they retry by themselves. */
async function expectApplied(manager: TestManager, revision: string): Promise<void> {
  await expect
    .poll(async () => (await manager.get('/api/v2/reconcile')).body)
    .toMatchObject({ revision_applied: revision, state: 'applied', error: null });
}

describe.skipIf(!HAS_OPENSSL)('an origin that sends one byte a second', () => {
  // On a slow machine the first poll may also take longer than the three seconds, and is then retried.
  it('is given up after the time limit of polls and writes, and is reached again once it is faster', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const server = await serveHttps(origin.url, 'robot:token');
    const proxy = await slowProxy(server.port);
    const url = `https://localhost:${proxy.port}/fleet.git`;
    const settings = {
      GIT_USERNAME: 'robot',
      GIT_TOKEN: 'token',
      GIT_CA_FILE: server.caFile,
      GIT_TIMEOUT: '3',
    };
    const manager = await startFollower({ ...origin, url }, { settings });
    await expectApplied(manager, await origin.bare.git('rev-parse', 'main'));
    const before = (await manager.get(INFO)).text;
    proxy.slowDown(true);
    const connections = proxy.count();
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({
      state: 'failing',
      error: { kind: 'unavailable', message: 'origin did not respond in time' },
    });
    const reply = await manager.put(UPDATE, { container_image: 'slow:1' });
    expect(reply.status).toBe(503);
    await expect.poll(() => proxy.count()).toBeGreaterThan(connections);
    expect((await manager.get(INFO)).text).toBe(before);
    proxy.slowDown(false);
    await expectApplied(manager, await origin.push({ [WEB]: 'container_image: quick:1\n' }));
    const write = async () => (await manager.put(UPDATE, { container_image: 'quick:2' })).status;
    await expect.poll(write).toBe(202);
    await expectIntact(origin.url);
  });
});

describe('an origin that accepts a connection and never answers', () => {
  it('does not keep a first start waiting: the status reports it, and devices get 503', async () => {
    const server = createServer(() => undefined).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as { port: number };
    const origin = await testOrigin(SMALL_FLEET);
    const url = `https://127.0.0.1:${port}/fleet.git`;
    const manager = await startFollower({ ...origin, url }, { settings: { GIT_TIMEOUT: '1' } });
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      error: { kind: 'unavailable', message: 'origin did not respond in time' },
    });
    expect((await manager.get(INFO)).status).toBe(503);
  });
});

describe('a fetch that takes longer than GIT_TIMEOUT', () => {
  it('succeeds at the second try, which has more time', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    const settings = { GIT_TIMEOUT: '1' };
    const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
    await ssh.behave('for step in 1 2 3 4 5 6 7 8 9; do echo step >&2; sleep 0.3; done\n');
    const id = await origin.push({ [WEB]: 'container_image: large:1\n' });
    expect((await manager.reconcile()).body.error.message).toBe('origin did not respond in time');
    await expectApplied(manager, id);
  });

  it('does not hold up writes if it is the first one: they get 503, and nothing is pushed', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    await ssh.behave('exit 1\n');
    const settings = { GIT_TIMEOUT: '1' };
    const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
    await ssh.behave(ENDLESS_MESSAGES);
    const before = (await ssh.calls()).length;
    void manager.reconcile().catch(() => undefined);
    await expect.poll(async () => (await ssh.calls()).length).toBeGreaterThan(before);
    const reply = await manager.post('/api/v2/apps/early', { container_image: 'early:1' });
    expect(reply.status).toBe(503);
    expect(await origin.bare.git('log', '--format=%s', 'main')).toBe('the first fleet');
  });
});

// The push must be sent within two seconds.
it('a push that is cut off by the time limit gets 503 with its commit, which is applied if it arrives later', async () => {
  const origin = await testOrigin(SMALL_FLEET);
  const ssh = await serveSsh(origin.url);
  const settings = { GIT_TIMEOUT: '2' };
  const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
  // Another machine would carry on after the connection has ended; its hook takes longer than the time limit.
  await ssh.behave(`exec setsid -w sh -c "$command"\n`);
  await writeFile(join(origin.url, 'hooks/pre-receive'), '#!/bin/sh\nsleep 4\n', { mode: 0o755 });
  const reply = await manager.put(UPDATE, { container_image: 'late:1' });
  expect(reply.status).toBe(503);
  expect(reply.body).toMatchObject({ revision: expect.any(String), applied: false });
  await expect.poll(() => origin.bare.git('rev-parse', 'main')).toBe(reply.body.revision);
  expect((await manager.reconcile()).body.revision_applied).toBe(reply.body.revision);
  expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('late:1');
});
