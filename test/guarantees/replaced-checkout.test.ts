import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, type TestRepository } from '../support/git.ts';
import { startManager } from '../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';
const FILES = { 'apps/web.yaml': 'container_image: nginx:1\n' };

/** A clone of the repository, in another folder. */
async function cloneOf(repository: TestRepository): Promise<TestRepository> {
  const folder = join(await temporaryFolder(), 'clone');
  await repository.git('clone', '--quiet', '.', folder);
  const clone = repositoryAt(folder);
  await clone.git('config', 'user.name', 'Pat');
  await clone.git('config', 'user.email', 'pat@example.com');
  return clone;
}

describe('a checkout that is replaced by another clone', () => {
  it.each([
    ['it was renamed', (folder: string) => rename(folder, `${folder}-old`)],
    ['it was deleted', (folder: string) => rm(folder, { recursive: true })],
  ])('is followed and written to after %s', async (_cause, takeAway) => {
    const manager = await startManager({ files: FILES });
    const { repository } = manager;
    await manager.put(`${WEB}/update`, { privileged: true });
    const clone = await cloneOf(repository);
    await clone.commit({ [FILE]: 'container_image: nginx:2\n' });
    await takeAway(repository.folder);
    await rename(clone.folder, repository.folder);
    await manager.reconcile();
    expect((await manager.get(WEB)).body).toMatchObject({ container_image: 'nginx:2' });

    const write = await manager.put(`${WEB}/update`, { container_image: 'nginx:3' });
    expect([write.status, write.body.container_image]).toEqual([202, 'nginx:3']);
    expect(await repository.git('show', `HEAD:${FILE}`)).toBe('container_image: nginx:3');
    expect(await repository.git('status', '--porcelain')).toBe('');

    await repository.commit({ [FILE]: 'container_image: nginx:4\n' });
    await vi.waitFor(
      async () => expect((await manager.get(WEB)).body).toMatchObject({ container_image: 'nginx:4' }),
      60_000,
    );
  });

  it('leaves the applied state in service while there is none, and writes get 503', async () => {
    const manager = await startManager({ files: FILES });
    const { folder } = manager.repository;
    await rename(folder, `${folder}-away`);
    await manager.reconcile();
    expect((await manager.get('/api/v2/reconcile')).body).toMatchObject({
      state: 'failing',
      error: { message: 'the repository is gone; restore it' },
    });
    expect((await manager.get(WEB)).status).toBe(200);
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(503);
    await rename(`${folder}-away`, folder);
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
  });
});
