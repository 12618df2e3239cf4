import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { serveSsh } from '../support/ssh-origin.ts';

const UPDATE = '/api/v2/apps/web/update';

const trackingLock = ({ dataFolder }: TestManager): string =>
  join(dataFolder, 'mirror.git/refs/remotes/origin/main.lock');

describe('a push that ends with an error', () => {
  it.each([
    'error: RPC failed; curl 56 OpenSSL SSL_read: Connection reset by peer, errno 104',
    'sh: 1: mail: not found',
    'cat: /etc/hook.conf: Permission denied',
    'remote: the certificate of the mail server does not exist',
  ])('succeeds if origin turns out to have the commit, whatever origin printed: %s', async (text) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    // Origin dies after it has taken the commit and before it reports that.
    const hook = `#!/bin/sh\ntest "$1" = committed || exit 0\necho '${text}' >&2\nkill -9 $PPID\n`;
    await writeFile(join(origin.url, 'hooks/reference-transaction'), hook, { mode: 0o755 });
    const reply = await manager.put(UPDATE, { container_image: 'arrived:1' });
    expect(reply.status).toBe(202);
    expect(reply.headers.get('holdfast-revision')).toBe(await origin.bare.git('rev-parse', 'main'));
  });

  it('is reported as refused, without a revision, if the account may only read', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    const manager = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path });
    const refusal = 'ERROR: The key you are authenticating with has been marked as read only.';
    await ssh.behave(`case "$command" in *receive-pack*) echo '${refusal}' >&2; exit 1;; esac\n`);
    const reply = await manager.put(UPDATE, { container_image: 'refused:1' });
    expect(reply.status).toBe(503);
    expect(reply.body.error).toBe(`the transfer with origin failed: ${refusal}`);
    expect(reply.body).not.toHaveProperty('revision');
  });
});

describe('a write whose push arrived while the branch in the mirror is blocked', () => {
  it('by a stale lock, is applied all the same', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await writeFile(trackingLock(manager), '');
    const reply = await manager.put(UPDATE, { container_image: 'followed:1' });
    expect(reply.status).toBe(202);
    expect(reply.body.container_image).toBe('followed:1');
  });

  it('by a lock that cannot be removed, gets 503 as published but not applied, and is applied later', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await mkdir(join(trackingLock(manager), 'in-the-way'), { recursive: true });
    const reply = await manager.put(UPDATE, { container_image: 'published:1' });
    const tip = await origin.bare.git('rev-parse', 'main');
    expect(reply.status).toBe(503);
    expect(reply.body).toMatchObject({ revision: tip, applied: false });
    expect(reply.body.error).toMatch(
      /^the commit is published, but the mirror could not be updated: .*cannot lock ref 'refs\/remotes\/origin\/main'/,
    );
    await rm(trackingLock(manager), { recursive: true });
    await expect.poll(async () => (await manager.get('/api/v2/reconcile')).body.revision_applied).toBe(tip);
  });
});
