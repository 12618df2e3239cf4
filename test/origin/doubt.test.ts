import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { serveSsh } from '../support/ssh-origin.ts';

const UPDATE = '/api/v2/apps/web/update';

const trackingLock = ({ dataFolder }: TestManager): string =>
  join(dataFolder, 'mirror.git/refs/remotes/origin/main.lock');

describe('a push whose outcome is not known', () => {
  it.each([
    'error: RPC failed; curl 56 OpenSSL SSL_read: Connection reset by peer, errno 104',
    'sh: 1: mail: not found',
    'cat: /etc/hook.conf: Permission denied',
    'remote: the certificate of the mail server does not exist',
  ])('has arrived where origin says so, whatever was written to the terminal: %s', async (text) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    // Origin dies between taking the commit and saying so.
    const hook = `#!/bin/sh\ntest "$1" = committed || exit 0\necho '${text}' >&2\nkill -9 $PPID\n`;
    await writeFile(join(origin.url, 'hooks/reference-transaction'), hook, { mode: 0o755 });
    const reply = await manager.put(UPDATE, { container_image: 'arrived:1' });
    expect(reply.status).toBe(202);
    expect(reply.headers.get('holdfast-revision')).toBe(await origin.bare.git('rev-parse', 'main'));
  });

  it('is refused for sure where the account may read only', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path });
    const told = 'ERROR: The key you are authenticating with has been marked as read only.';
    await ssh.behave(`case "$command" in *receive-pack*) echo '${told}' >&2; exit 1;; esac\n`);
    const reply = await manager.put(UPDATE, { container_image: 'refused:1' });
    expect(reply.status).toBe(503);
    expect(reply.body.error).toBe('origin does not allow this account to push');
    expect(reply.body).not.toHaveProperty('revision');
  });
});

describe('a push that the mirror cannot follow', () => {
  it('because of a lock that a dead process left: is applied all the same', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await writeFile(trackingLock(manager), '');
    const reply = await manager.put(UPDATE, { container_image: 'followed:1' });
    expect(reply.status).toBe(202);
    expect(reply.body.container_image).toBe('followed:1');
  });

  it('is told as published and not applied, and is applied when it can be', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await mkdir(join(trackingLock(manager), 'in-the-way'), { recursive: true });
    const reply = await manager.put(UPDATE, { container_image: 'published:1' });
    const tip = await origin.bare.git('rev-parse', 'main');
    expect(reply.status).toBe(503);
    expect(reply.body).toMatchObject({ revision: tip, applied: false });
    await rm(trackingLock(manager), { recursive: true });
    await expect.poll(async () => (await manager.get('/api/v2/reconcile')).body.revision_applied).toBe(tip);
  });
});
