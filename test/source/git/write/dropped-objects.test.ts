import { expect, it } from 'vitest';
import { startManager } from '../../../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';

it('a write succeeds although a cleanup dropped the blob of its file, which fast-import has seen in a pack', async () => {
  const manager = await startManager({
    files: { 'apps/web.yaml': 'container_image: web:1\n', 'apps/cron.yaml': 'container_image: cron:1\n' },
  });
  const { repository } = manager;
  // The blob is in no commit any more, but in a pack that the writer's fast-import reads.
  await repository.commit({ [FILE]: 'container_image: web:2\n' });
  await repository.git('gc', '--quiet');
  const blob = await repository.git('rev-parse', `HEAD:${FILE}`);
  await repository.git('reset', '--quiet', '--hard', 'HEAD^');
  await repository.git('update-ref', '-d', 'ORIG_HEAD');
  expect((await manager.put('/api/v2/apps/cron/update', { privileged: true })).status).toBe(202);

  await repository.git('reflog', 'expire', '--expire=now', '--all');
  await repository.git('repack', '-a', '-d', '--quiet');
  await expect(repository.git('cat-file', '-e', blob)).rejects.toThrow();
  const reply = await manager.put(`${WEB}/update`, { container_image: 'web:2' });
  expect([reply.status, reply.body.error]).toEqual([202, undefined]);
  expect(await repository.show(FILE)).toBe('container_image: web:2\n');
  expect(await repository.git('status', '--porcelain')).toBe('');
  // The commit graph is a cache that still names the dropped commit.
  const fsck = ['-c', 'core.commitGraph=false', 'fsck', '--full', '--strict', '--no-dangling'];
  expect(await repository.git(...fsck)).toBe('');
});
