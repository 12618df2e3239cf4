import { expect, it } from 'vitest';
import { startManager } from '../../../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';

it('a write arrives whose file was dropped by a clean-up while the writer remembered it', async () => {
  const manager = await startManager({
    files: { 'apps/web.yaml': 'container_image: web:1\n', 'apps/cron.yaml': 'container_image: cron:1\n' },
  });
  const { repository } = manager;
  // A file that no commit has any more, in a pack that the writer gets to know.
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
  // The graph of commits, which is a cache, still names what was dropped.
  const fsck = ['-c', 'core.commitGraph=false', 'fsck', '--full', '--strict', '--no-dangling'];
  expect(await repository.git(...fsck)).toBe('');
});
