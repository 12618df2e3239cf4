import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const WEB = '/api/v2/apps/web';

describe('a remote repository', () => {
  it('is followed: what a user pushes is served after the next poll', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.26');
    const id = await origin.push({ 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' });
    const { body } = await manager.reconcile();
    expect(body).toMatchObject({ revision_applied: id, state: 'applied', branch: 'main', error: null });
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.27');
  });

  it('has the commit of a write, with its author and subject, when the write is answered', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const reply = await manager.put(`${WEB}/update`, { container_image: 'nginx:1.28' });
    expect(reply.status).toBe(202);
    expect(await origin.bare.git('log', '-1', '--format=%an|%s', 'main')).toBe(
      'operator|app web: container_image 1.26 -> 1.28',
    );
    expect(reply.headers.get('holdfast-revision')).toBe(await origin.bare.git('rev-parse', 'main'));
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toBe(
      '# the web server\ncontainer_image: nginx:1.28\nstarting_ports: [80]\n',
    );
  });

  it.each([
    ['a path with a space', (path: string) => path],
    ['a relative path', (path: string) => relative(process.cwd(), path)],
  ])('at %s is followed and written to', async (_, addressOf) => {
    const origin = await testOrigin(SMALL_FLEET);
    const folder = join(await temporaryFolder(), 'our fleet.git');
    await rename(origin.url, folder);
    const manager = await startFollower({ ...origin, url: addressOf(folder) });
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.26');
    const reply = await manager.put(`${WEB}/update`, { privileged: true });
    expect([reply.status, reply.headers.get('holdfast-revision')]).toEqual([
      202,
      await repositoryAt(folder).git('rev-parse', 'main'),
    ]);
  });

  it('that is shallow is followed and written to like any other', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const folder = join(await temporaryFolder(), 'shallow.git');
    const cloneAgain = async (): Promise<void> => {
      await rm(folder, { recursive: true, force: true });
      await origin.bare.git('clone', '--quiet', '--bare', '--depth=1', `file://${origin.url}`, folder);
    };
    await origin.push({ 'elsewhere.txt': 'x' });
    await cloneAgain();
    const manager = await startFollower({ ...origin, url: folder });
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.26');
    const id = await origin.push({ 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' });
    await cloneAgain();
    expect((await manager.reconcile()).body).toMatchObject({ revision_applied: id, error: null });
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
  });

  it('that moved since the last poll gets the change of a write on its new head', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.push({
      'desired-state/apps/web.yaml': '# mine\ncontainer_image: mine:1\nprivileged: true\n',
    });
    const reply = await manager.put(`${WEB}/update`, { container_image: 'nginx:1.28' });
    expect(reply.status).toBe(202);
    expect(reply.body).toMatchObject({ container_image: 'nginx:1.28', privileged: true });
    expect(await origin.bare.show('desired-state/apps/web.yaml', 'main')).toBe(
      '# mine\ncontainer_image: nginx:1.28\nprivileged: true\n',
    );
  });

  it('without commits is an empty fleet, and the first write makes the first commit', async () => {
    const origin = await testOrigin();
    const manager = await startFollower(origin);
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.post(WEB, { container_image: 'a' })).status).toBe(200);
    expect(await origin.bare.git('log', '--format=%s', 'main')).toBe('app web: create');
    const id = await origin.push({ 'desired-state/apps/b.yaml': 'container_image: b\n' });
    expect((await manager.reconcile()).body.revision_applied).toBe(id);
  });

  it('is followed on the branch and in the folder that the settings name', async () => {
    const origin = await testOrigin();
    await origin.push({ 'README.md': 'x\n' });
    await origin.user.git('switch', '--quiet', '-c', 'release/1');
    await origin.user.commit({ 'fleets/north/apps/web.yaml': 'container_image: a\n' });
    await origin.user.git('push', '--quiet', 'origin', 'release/1');
    const settings = { GIT_BRANCH: 'release/1', DESIRED_STATE: './fleets/north/' };
    const manager = await startFollower(origin, { settings });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['web'] });
    expect((await manager.delete(WEB)).status).toBe(200);
    expect(await origin.bare.git('ls-tree', '-r', '--name-only', 'release/1')).toBe('README.md');
    expect(await origin.bare.git('ls-tree', '-r', '--name-only', 'main')).toBe('README.md');
  });

  it('runs its own hooks, and a write that they refuse gets 409 with their reason', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await writeFile(
      join(origin.url, 'hooks/pre-receive'),
      '#!/bin/sh\necho frozen until Monday >&2\nexit 1\n',
      {
        mode: 0o755,
      },
    );
    const manager = await startFollower(origin);
    const before = (await manager.get(WEB)).body;
    const reply = await manager.put(`${WEB}/update`, { container_image: 'x' });
    expect(reply.status).toBe(409);
    expect(reply.body.error).toContain('frozen until Monday');
    expect((await manager.get(WEB)).body).toEqual(before);
  });

  it('gets one commit for each of many concurrent writes, in few pushes', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    await writeFile(
      join(origin.url, 'hooks/post-receive'),
      `#!/bin/sh\ngrep refs/heads/main >> "${origin.url}/pushes"\n`,
      {
        mode: 0o755,
      },
    );
    const manager = await startFollower(origin);
    const names = Array.from({ length: 40 }, (_, index) => `app-${index}`);
    const replies = await Promise.all(
      names.map((name) => manager.post(`/api/v2/apps/${name}`, { container_image: name })),
    );
    expect(replies.map(({ status }) => status)).toEqual(names.map(() => 200));
    const subjects = (await origin.bare.git('log', '--format=%s', 'main')).split('\n');
    expect(subjects.sort()).toEqual(
      ['the first fleet', ...names.map((name) => `app ${name}: create`)].sort(),
    );
    const pushes = (await readFile(join(origin.url, 'pushes'), 'utf8')).split('\n');
    expect(pushes.length).toBeLessThan(10);
    await expectIntact(origin.url);
  });
});

describe('a restart', () => {
  it('serves what was fetched before, even if origin is gone', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = (await manager.get('/api/v2/device_groups/edge/info')).text;
    await rm(origin.url, { recursive: true });
    const next = await manager.restart();
    expect((await next.get('/api/v2/device_groups/edge/info')).text).toBe(before);
    expect((await next.get('/readyz')).status).toBe(200);
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      error: {
        kind: 'unavailable',
        message: expect.stringMatching(/does not appear to be a git repository$/),
        failures: 1,
      },
    });
  });

  it('with another GIT_REMOTE takes nothing over from the old mirror', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const other = await testOrigin({ 'apps/web.yaml': 'container_image: other:1\n' });
    const next = await manager.restart({ GIT_REMOTE: other.url });
    expect((await next.get('/api/v2/apps')).body).toEqual({ apps: ['web'] });
    expect((await next.get('/api/v2/reconcile')).body.history_rewritten).not.toBeNull();
    expect((await readdir(manager.dataFolder)).sort()).not.toContain('mirror.git.new');
  });

  it('with GIT_BRANCH main/next after main, which git cannot have at once, follows the new branch', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.user.git('switch', '--quiet', '-c', 'next');
    await origin.user.commit({ 'desired-state/apps/web.yaml': 'container_image: next:1\n' });
    await origin.bare.git('symbolic-ref', 'HEAD', 'refs/heads/main/next');
    await origin.user.git('push', '--quiet', 'origin', ':main');
    await origin.user.git('push', '--quiet', 'origin', 'next:main/next');
    const next = await manager.restart({ GIT_BRANCH: 'main/next' });
    expect((await next.get(WEB)).body.container_image).toBe('next:1');
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
  });
});
