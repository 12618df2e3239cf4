import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { lastCommit } from '../support/manager-state.ts';

describe('docs/contract.md, 12.1: effects of settings', () => {
  it("DEFAULT_NETWORKS: default of an app's networks", async () => {
    const manager = await startManager({ files: SMALL_FLEET, settings: { DEFAULT_NETWORKS: 'lan,wan' } });
    expect((await manager.get('/api/v2/apps/web')).body.networks).toEqual(['lan', 'wan']);
    const { body } = await manager.post('/api/v2/apps/new', { container_image: 'a' });
    expect(body.networks).toEqual(['lan', 'wan']);
    await manager.post('/api/v2/apps/same', { container_image: 'a', networks: ['lan', 'wan'] });
    expect(await manager.repository.show('desired-state/apps/same.yaml')).toBe('container_image: a\n');
    await manager.post('/api/v2/apps/other', { container_image: 'a', networks: ['nebula', 'bridge'] });
    expect((await manager.get('/api/v2/apps/other')).body.networks).toEqual(['nebula', 'bridge']);
    expect(await manager.repository.show('desired-state/apps/other.yaml')).toContain('nebula');
  });

  it('DATA_DIR: created with mode 0700, and so are its missing parent folders', async () => {
    const folder = await temporaryFolder();
    await startManager({ files: SMALL_FLEET, dataFolder: join(folder, 'a/b/data') });
    for (const path of ['a', 'a/b', 'a/b/data'])
      expect((await stat(join(folder, path))).mode & 0o777, path).toBe(0o700);
  });

  it('GIT_BRANCH: unset, the branch that is checked out', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.repository.git('branch', 'prod');
    await manager.post('/api/v2/apps/web/stop');
    expect(await manager.repository.git('rev-list', '--count', 'main')).toBe('2');
    expect(await manager.repository.git('rev-list', '--count', 'prod')).toBe('1');
  });

  it('GIT_BRANCH: a branch that is not checked out is followed and written to, and the checkout stays as it is', async () => {
    const first = await startManager({ files: SMALL_FLEET });
    await first.repository.git('branch', 'prod');
    await first.repository.commit({ 'desired-state/apps/web.yaml': 'container_image: main:1\n' });
    const manager = await first.restart({ GIT_BRANCH: 'prod' });
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:1.26');
    const main = await manager.repository.git('rev-parse', 'HEAD');
    const reply = await manager.put('/api/v2/apps/web/update', { container_image: 'prod:1' });
    expect(reply.status).toBe(202);
    expect(await manager.repository.git('rev-parse', 'HEAD')).toBe(main);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
    expect(await manager.repository.show('desired-state/apps/web.yaml', 'prod')).toContain('prod:1');
    expect(reply.headers.get('holdfast-revision')).toBe(await manager.repository.git('rev-parse', 'prod'));
  });

  it('DESIRED_STATE: the folder, in a git work tree of this machine, or all of the work tree', async () => {
    const repository = await testRepository();
    await repository.commit({ 'apps/top.yaml': 'container_image: top:1\n' });
    const manager = await startManager({ repository, settings: { DESIRED_STATE: repository.folder } });
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: ['top'] });
    await manager.post('/api/v2/apps/next', { container_image: 'a' });
    expect((await lastCommit(repository)).files).toEqual(['A apps/next.yaml']);
  });

  it('LOG_LEVEL=trace: neither the password nor values of env_vars are in the log', async () => {
    const settings = { BASIC_AUTH_PASSWORD: 'hunter2-hunter2' };
    const manager = await startManager({ files: SMALL_FLEET, settings, logLevel: 'trace' });
    const authorization = `Basic ${Buffer.from('operator:hunter2-hunter2').toString('base64')}`;
    await manager.get('/api/v2/apps', { authorization });
    const change = { env_vars: { TOKEN: 'value-of-token' } };
    expect((await manager.put('/api/v2/apps/web/update', change, { authorization })).status).toBe(202);
    const log = JSON.stringify(manager.log);
    expect(log).toContain('/api/v2/apps/web/update');
    for (const secret of ['hunter2-hunter2', authorization.slice(6), 'value-of-token'])
      expect(log).not.toContain(secret);
  });
});
