import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { changedLines, commitCount, expectRefused, lastCommit } from '../support/manager-state.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { groupRecord, INVALID_NAMES } from './expected.ts';

describe('docs/contract.md, 4.1: DELETE /api/v2/apps/{app_name}', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it('200 with an empty object, and the app is removed', async () => {
    await manager().post('/api/v2/apps/gone', { container_image: 'gone:1' });
    const commits = await commitCount(manager().repository);
    const reply = await manager().delete('/api/v2/apps/gone');
    expect(reply.status).toBe(200);
    expect(reply.text).toBe('{}');
    expect((await manager().get('/api/v2/apps/gone')).body).toEqual({ app_exists: false });
    expect((await manager().get('/api/v2/apps')).body.apps).not.toContain('gone');
    expect(await commitCount(manager().repository)).toBe(commits + 1);
    const commit = await lastCommit(manager().repository);
    expect(commit.files).toEqual(['D desired-state/apps/gone.yaml']);
    expect(commit.subject).toBe('app gone: delete');
    expect(existsSync(join(manager().repository.folder, 'desired-state/apps/gone.yaml'))).toBe(false);
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('403 app_exists: false for a name that does not exist', async () => {
    const reply = await expectRefused(manager(), 403, () => manager().delete('/api/v2/apps/nope'));
    expect(reply.body).toEqual({ app_exists: false });
  });

  it.each(INVALID_NAMES)('docs/contract.md, 2.5: Names: anything else is 400: %s', async (_, name) => {
    const reply = await sendRaw(manager(), { method: 'DELETE', path: `/api/v2/apps/${name}` });
    expect(reply.status).toBe(400);
  });

  it('Deleting an app cannot be undone: a second delete is 403, and creating it again raises its app_id', async () => {
    const fields = { container_image: 'again:1', privileged: true };
    const { body: first } = await manager().post('/api/v2/apps/again', fields);
    await manager().delete('/api/v2/apps/again');
    expect((await manager().delete('/api/v2/apps/again')).status).toBe(403);
    const { body: second } = await manager().post('/api/v2/apps/again', fields);
    expect(second.app_id).toBeGreaterThan(first.app_id);
    expect({ ...second, app_id: 0, _id: 0 }).toEqual({ ...first, app_id: 0, _id: 0 });
  });
});

describe('docs/contract.md, 4.2: a delete of an app that device groups list', () => {
  it('the name leaves those groups in the same commit, and each gets a higher device_group_id', async () => {
    const manager = await startManager({
      files: {
        'apps/web.yaml': 'container_image: web:1\n',
        'apps/db.yaml': 'container_image: db:1\n',
        'device-groups/block.yaml': '# stores\napps:\n  - db # first\n  - web\n',
        'device-groups/flow.yml': 'apps: [web, db]\n',
        'device-groups/alone.yaml': 'apps: [web]\n',
        'device-groups/north/other.yaml': 'apps: [db]\n',
      },
    });
    const group = async (name: string) => (await manager.get(`/api/v2/device_groups/${name}`)).body;
    const before = {
      block: await group('block'),
      flow: await group('flow'),
      alone: await group('alone'),
      other: await group('other'),
      db: (await manager.get('/api/v2/apps/db')).body,
    };
    await manager.get('/api/v2/device_groups/block/info');

    const reply = await manager.delete('/api/v2/apps/web');

    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({});
    expect(await commitCount(manager.repository)).toBe(2);
    const commit = await lastCommit(manager.repository);
    expect(commit.files.sort()).toEqual([
      'D desired-state/apps/web.yaml',
      'M desired-state/device-groups/alone.yaml',
      'M desired-state/device-groups/block.yaml',
      'M desired-state/device-groups/flow.yml',
    ]);
    expect(commit.subject).toBe('app web: delete');
    expect(reply.headers.get('holdfast-revision')).toBe(commit.id);
    for (const [name, apps] of [
      ['block', ['db']],
      ['flow', ['db']],
      ['alone', []],
    ] as const) {
      const { device_group_id, prune_id } = before[name];
      expect(await group(name)).toEqual(
        groupRecord(name, apps, { device_group_id: device_group_id + 1, prune_id }),
      );
    }
    expect(await group('other')).toEqual(before.other);
    expect((await manager.get('/api/v2/apps/db')).body).toEqual(before.db);
    const info = (await manager.get('/api/v2/device_groups/block/info')).body;
    expect(info.apps_list).toEqual(['db']);
    expect(info.apps.map(({ app_name }: { app_name: string }) => app_name)).toEqual(['db']);
    expect(await changedLines(manager.repository, 'desired-state/device-groups/block.yaml')).toEqual([
      '-  - web',
    ]);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });
});
