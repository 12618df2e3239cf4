import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt } from '../support/git.ts';
import { startManager } from '../support/manager.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';
const LATER = 'desired-state/apps/later.yaml';

describe('a rebase of the followed branch', () => {
  it('is applied only once it is finished: no app disappears meanwhile, and unchanged ids stay', async () => {
    const manager = await startManager({ files: { 'apps/web.yaml': 'container_image: nginx:1\n' } });
    const { repository } = manager;
    await repository.git('branch', 'upstream');
    await repository.commit({ [FILE]: 'container_image: mine:1\n', [LATER]: 'container_image: later:1\n' });
    await manager.reconcile();
    const later = (await manager.get('/api/v2/apps/later')).body;
    const other = repositoryAt(join(await temporaryFolder(), 'other'));
    await repository.git('worktree', 'add', '--quiet', other.folder, 'upstream');
    await other.commit({ [FILE]: 'container_image: theirs:1\n' });

    await expect(repository.git('rebase', 'upstream')).rejects.toThrow();
    expect((await manager.reconcile()).body).toMatchObject({ state: 'applied', branch: 'main' });
    expect((await manager.get('/api/v2/apps/later')).body).toEqual(later);
    expect((await manager.get(WEB)).body).toMatchObject({ container_image: 'mine:1' });
    const write = await manager.put('/api/v2/apps/later/update', { privileged: true });
    expect(write.status).toBe(409);
    expect(write.body.error).toMatch(/rebase/);

    await repository.git('checkout', '--quiet', '--theirs', FILE);
    await repository.git('add', FILE);
    await repository.git('-c', 'core.editor=true', 'rebase', '--continue');
    await manager.reconcile();
    expect((await manager.get('/api/v2/apps/later')).body.app_id).toBe(later.app_id);
    expect((await manager.put('/api/v2/apps/later/update', { privileged: true })).status).toBe(202);
  });
});
