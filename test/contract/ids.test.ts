import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { repositoryAt, testRepository } from '../support/git.ts';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { recordsOf } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';

const WEB = '/api/v2/apps/web';
const EDGE = '/api/v2/device_groups/edge';
const WEB_FILE = 'desired-state/apps/web.yaml';
const GROUP_FILE = 'desired-state/device-groups/edge.yaml';

async function idsOf(manager: TestManager) {
  const { apps, groups } = await recordsOf(manager);
  return { apps, groups } as {
    apps: Record<string, { app_id: number; _id: { $oid: string } }>;
    groups: Record<string, { device_group_id: number; prune_id: number; _id: { $oid: string } }>;
  };
}

async function commitAndReconcile(manager: TestManager, files: Record<string, string | null>): Promise<void> {
  await manager.repository.commit(files);
  await manager.reconcile();
}

describe('docs/contract.md, 8.2: an id goes up only for a change in what the devices must do', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([
    ['comments', { [WEB_FILE]: '# new\n\ncontainer_image: nginx:1.26 # pinned\nstarting_ports: [80]\n' }],
    ['key order', { [WEB_FILE]: 'starting_ports: [80]\ncontainer_image: nginx:1.26\n' }],
    ['formatting', { [WEB_FILE]: '{"container_image": \'nginx:1.26\', starting_ports:\n [\n 80]}\n' }],
    [
      'a value that equals the default',
      {
        [WEB_FILE]:
          'container_image: nginx:1.26\nstarting_ports: [80]\nrunning: true\nnetworks: [nebula, bridge]\nenv_vars: {}\n',
      },
    ],
    ['the formatting of a group', { [GROUP_FILE]: '# edge\napps: ["web", cron]\n' }],
    [
      'a file that moves',
      { [WEB_FILE]: null, 'desired-state/apps/deep/er/web.yml': SMALL_FLEET['apps/web.yaml'] },
    ],
    ['files of no object', { 'desired-state/README.md': 'x\n', 'outside.txt': 'y\n' }],
    ['an empty commit', {}],
  ])('does not go up for %s', async (_, files) => {
    const before = await idsOf(manager());
    await commitAndReconcile(manager(), files);
    expect(await idsOf(manager())).toEqual(before);
    expect((await manager().get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it('does not go up for an invalid file, nor for its repair with the content of before', async () => {
    const own = await startManager({ files: SMALL_FLEET });
    const before = await idsOf(own);
    await commitAndReconcile(own, { [WEB_FILE]: '[', [GROUP_FILE]: 'apps: [nope]\n' });
    expect(await idsOf(own)).toEqual(before);
    await commitAndReconcile(own, {
      [WEB_FILE]: SMALL_FLEET['apps/web.yaml'],
      [GROUP_FILE]: SMALL_FLEET['device-groups/edge.yaml'],
    });
    expect(await idsOf(own)).toEqual(before);
  });

  it('does not go up for a commit that puts the same content back before it was ever served', async () => {
    const own = await startManager({ files: SMALL_FLEET });
    const before = await idsOf(own);
    await own.stop();
    await own.repository.commit({ [WEB_FILE]: 'container_image: never:1\n', [GROUP_FILE]: null });
    await own.repository.commit({
      [WEB_FILE]: SMALL_FLEET['apps/web.yaml'],
      [GROUP_FILE]: SMALL_FLEET['device-groups/edge.yaml'],
    });
    expect(await idsOf(await own.restart())).toEqual(before);
  });

  it('does not go up for a restart of the manager', async () => {
    const own = await startManager({ files: SMALL_FLEET });
    await own.post(`${WEB}/restart`);
    await own.post('/api/v2/prune');
    await own.put(`${EDGE}/update`, { apps: ['cron'] });
    const before = await idsOf(own);
    const second = await own.restart();
    expect(await idsOf(second)).toEqual(before);
    expect(await idsOf(await second.restart())).toEqual(before);
  });
});

describe('docs/contract.md, 8.1: content never changes without an id higher than any that was served before', () => {
  it('app_id: +1 for each change that devices must act on, also for a rollback', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: first } = await manager.get(WEB);
    await commitAndReconcile(manager, { [WEB_FILE]: 'container_image: nginx:1.27\nprivileged: true\n' });
    expect((await manager.get(WEB)).body.app_id).toBe(first.app_id + 1);
    await manager.repository.git('revert', '--no-edit', 'HEAD');
    await manager.reconcile();
    expect((await manager.get(WEB)).body).toEqual({ ...first, app_id: first.app_id + 2 });
  });

  it('raises ids when another branch is checked out, and again on the way back', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { body: first } = await manager.get(WEB);
    const { body: group } = await manager.get(EDGE);
    await manager.repository.git('checkout', '--quiet', '-b', 'next');
    await commitAndReconcile(manager, {
      [WEB_FILE]: 'container_image: nginx:1.27\n',
      [GROUP_FILE]: 'apps: [cron, web]\n',
    });
    await manager.repository.git('checkout', '--quiet', 'main');
    await manager.reconcile();
    expect((await manager.get(WEB)).body).toEqual({ ...first, app_id: first.app_id + 2 });
    expect((await manager.get(EDGE)).body).toEqual({ ...group, device_group_id: group.device_group_id + 2 });
  });

  it('raises the ids of the apps that a new value of DEFAULT_NETWORKS changes, and no others', async () => {
    const manager = await startManager({
      files: { ...SMALL_FLEET, 'apps/own.yaml': 'container_image: a\nnetworks: [nebula, bridge]\n' },
    });
    const before = await idsOf(manager);
    const next = await manager.restart({ DEFAULT_NETWORKS: 'lan' });
    const { body } = await next.get(WEB);
    expect(body).toEqual({
      ...before.apps['web'],
      networks: ['lan'],
      app_id: (before.apps['web']?.app_id ?? 0) + 1,
    });
    expect((await next.get('/api/v2/apps/own')).body).toEqual(before.apps['own']);
  });

  it.each(['through the API', 'by commits'])(
    'after a delete, higher than any it ever had: delete and re-create %s',
    async (how) => {
      const manager = await startManager({ files: SMALL_FLEET });
      const create = async () => {
        if (how === 'by commits') {
          await commitAndReconcile(manager, {
            'desired-state/apps/x.yaml': 'container_image: x\n',
            'desired-state/device-groups/g.yaml': 'apps: []\n',
          });
        } else {
          await manager.post('/api/v2/apps/x', { container_image: 'x' });
          await manager.post('/api/v2/device_groups/g', { apps: [] });
        }
      };
      const remove = async () => {
        if (how === 'by commits') {
          await commitAndReconcile(manager, {
            'desired-state/apps/x.yaml': null,
            'desired-state/device-groups/g.yaml': null,
          });
        } else {
          await manager.delete('/api/v2/apps/x');
          await manager.delete('/api/v2/device_groups/g');
        }
      };
      const read = async () => [
        (await manager.get('/api/v2/apps/x')).body,
        (await manager.get('/api/v2/device_groups/g')).body,
      ];

      await create();
      expect(await read()).toMatchObject([{ app_id: 1 }, { device_group_id: 1, prune_id: 1 }]);
      for (const path of ['apps/x/restart', 'apps/x/restart', 'device_groups/g/prune', 'prune'])
        await manager.post(`/api/v2/${path}`);
      const [app, group] = await read();
      expect([app, group]).toMatchObject([{ app_id: 3 }, { device_group_id: 1, prune_id: 3 }]);
      await remove();
      await create();
      const [appAgain, groupAgain] = await read();
      expect([appAgain, groupAgain]).toMatchObject([{ app_id: 4 }, { device_group_id: 2, prune_id: 4 }]);
      expect(appAgain._id).not.toEqual(app._id);
      expect(groupAgain._id).not.toEqual(group._id);
    },
  );

  it("_id: assigned once, kept for the object's life, and different for each object", async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const before = await idsOf(manager);
    await manager.put(`${WEB}/update`, { privileged: true });
    await manager.post(`${WEB}/update`, { container_image: 'other' });
    await manager.put(`${EDGE}/update`, { apps: [] });
    await commitAndReconcile(manager, {
      [WEB_FILE]: null,
      'desired-state/apps/moved/web.yaml': 'container_image: moved\n',
    });
    const after = await idsOf(await manager.restart());
    expect(after.apps['web']?._id).toEqual(before.apps['web']?._id);
    expect(after.groups['edge']?._id).toEqual(before.groups['edge']?._id);
    const all = [...Object.values(after.apps), ...Object.values(after.groups)].map(({ _id }) => _id.$oid);
    expect(new Set(all).size).toBe(all.length);
  });
});

describe('docs/contract.md, 8.3: a store starts without counters', () => {
  it("gives a name in git's history of the folder an id from Unix time, and any other name 1", async () => {
    const repository = await testRepository();
    await repository.commit({
      [WEB_FILE]: 'container_image: a\n',
      'desired-state/apps/deleted.yaml': 'container_image: a\n',
      'desired-state/apps/sub/moved.yml': 'container_image: a\n',
      'desired-state/device-groups/old.yaml': 'apps: []\n',
      'apps/outside.yaml': 'container_image: a\n',
    });
    await repository.git('checkout', '--quiet', '-b', 'side');
    await repository.commit({ 'desired-state/apps/elsewhere.yaml': 'container_image: a\n' });
    await repository.git('checkout', '--quiet', 'main');
    await repository.commit({
      'desired-state/apps/deleted.yaml': null,
      'desired-state/device-groups/old.yaml': null,
    });
    const start = Math.floor(Date.now() / 1000);
    const manager = await startManager({ repository });

    const fromUnixTime = expect.toSatisfy((id: number) => id >= start && id <= Date.now() / 1000 + 60);
    for (const path of [WEB, '/api/v2/apps/moved'])
      expect((await manager.get(path)).body.app_id, path).toEqual(fromUnixTime);
    for (const name of ['deleted', 'elsewhere']) {
      const { body } = await manager.post(`/api/v2/apps/${name}`, { container_image: 'b' });
      expect(body.app_id, name).toEqual(fromUnixTime);
    }
    const { body: old } = await manager.post('/api/v2/device_groups/old', { apps: [] });
    expect([old.device_group_id, old.prune_id]).toEqual([fromUnixTime, fromUnixTime]);
    for (const name of ['new', 'outside']) {
      const { body } = await manager.post(`/api/v2/apps/${name}`, { container_image: 'b' });
      expect(body.app_id, name).toBe(1);
    }
    const { body: group } = await manager.post('/api/v2/device_groups/new', { apps: ['new'] });
    expect([group.device_group_id, group.prune_id]).toEqual([1, 1]);
  });

  it("gives ids from the newest commit's time if that is later than the clock", async () => {
    const repository = await testRepository();
    const later = Math.floor(Date.now() / 1000) + 1_000_000;
    await repository.commit({ [WEB_FILE]: 'container_image: a\n' });
    const late = `!GIT_COMMITTER_DATE='@${later} +0000' git commit --quiet --allow-empty -m late`;
    await repository.git('-c', `alias.late=${late}`, 'late');
    const manager = await startManager({ repository });
    expect((await manager.get(WEB)).body.app_id).toBeGreaterThanOrEqual(later);
  });

  it('gives every name an id from Unix time if the history is shallow, since names can be missing from it', async () => {
    const origin = await testRepository();
    await origin.commit({
      [WEB_FILE]: 'container_image: a\n',
      'desired-state/apps/gone.yaml': 'container_image: a\n',
    });
    await origin.commit({ 'desired-state/apps/gone.yaml': null });
    const folder = await temporaryFolder();
    await origin.git('clone', '--quiet', '--depth', '1', `file://${origin.folder}`, folder);
    const start = Math.floor(Date.now() / 1000);
    const manager = await startManager({ repository: repositoryAt(folder) });
    expect((await manager.get(WEB)).body.app_id).toBeGreaterThanOrEqual(start);
    const { body } = await manager.post('/api/v2/apps/gone', { container_image: 'b' });
    expect(body.app_id).toBeGreaterThanOrEqual(start);
  });

  it('starts every name at 1 on a branch without a commit, and continues from there after a restart', async () => {
    const manager = await startManager();
    expect((await manager.post(WEB, { container_image: 'a' })).body.app_id).toBe(1);
    expect((await manager.post(EDGE, { apps: ['web'] })).body).toMatchObject({
      device_group_id: 1,
      prune_id: 1,
    });
    expect((await manager.post(`${WEB}/stop`)).body.app_id).toBe(2);
    const next = await manager.restart();
    expect((await next.post(`${WEB}/start`)).body.app_id).toBe(3);
    expect((await next.post('/api/v2/apps/late', { container_image: 'a' })).body.app_id).toBe(1);
  });
});
