import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { commitCount, expectNothingWritten, expectRefused, lastCommit } from '../support/manager-state.ts';
import { appRecord, groupRecord } from './expected.ts';

const WEB = '/api/v2/apps/web';
const EDGE = '/api/v2/device_groups/edge';
const FILE = 'desired-state/apps/web.yaml';

/** Ways in which an app's file is invalid at head, and the path in the problem. */
const INVALID: readonly (readonly [string, Record<string, string | Uint8Array>, string])[] = [
  ['broken YAML', { [FILE]: '# web\ncontainer_image: [nginx\n' }, 'apps/web.yaml'],
  ['a bad value', { [FILE]: '# web\ncontainer_image: nginx:1.26\nrunning: perhaps\n' }, 'apps/web.yaml'],
  ['an empty file', { [FILE]: '' }, 'apps/web.yaml'],
  ['a NUL in a comment', { [FILE]: '# a\0b\ncontainer_image: nginx:1.26\n' }, 'apps/web.yaml'],
  [
    'another encoding than UTF-8',
    { [FILE]: Buffer.from('# Gr\u00fc\u00dfe\ncontainer_image: nginx\n', 'latin1') },
    'apps/web.yaml',
  ],
  ['two files of one name', { 'desired-state/apps/shop/web.yaml': 'container_image: nginx:2\n' }, 'apps/'],
];

/** A manager that has applied the fleet, and then reads a commit of these invalid files. */
async function managerAfter(files: Record<string, string | Uint8Array>): Promise<TestManager> {
  const manager = await startManager({ files: SMALL_FLEET });
  await commitInvalid(manager, files);
  return manager;
}

async function commitInvalid(
  manager: TestManager,
  files: Record<string, string | Uint8Array>,
): Promise<void> {
  await manager.repository.commit(files);
  expect((await manager.reconcile()).body.problems).not.toEqual([]);
}

/** Expects that no problem and no uncommitted work is left. */
async function expectMended(manager: TestManager): Promise<void> {
  expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  expect(await manager.repository.git('status', '--porcelain')).toBe('');
}

describe('docs/contract.md, 10.5: The file of an object is invalid at head', () => {
  it.each(INVALID)(
    '409 naming file and problem; reads go on with the last good content; full update and delete fix it: %s',
    async (_, files, path) => {
      const manager = await managerAfter(files);
      const { body: before } = await manager.get(WEB);
      expect(before).toEqual(appRecord('web', { container_image: 'nginx:1.26', starting_ports: [80] }));
      for (const [method, url, body] of [
        ['PUT', `${WEB}/update`, { privileged: true }],
        ['PATCH', `${WEB}/update`, { container_image: 'nginx:1.27' }],
        ['POST', `${WEB}/stop`, undefined],
      ] as const) {
        const reply = await expectNothingWritten(manager, () => manager.request(method, url, { body }));
        expect(reply.status, `${method} ${url}`).toBe(409);
        expect(reply.body.error).toContain(path);
        expect(reply.body.error.length).toBeGreaterThan(path.length + 10);
      }
      expect((await manager.post(`${WEB}/restart`)).body.app_id).toBe(before.app_id + 1);

      const commits = await commitCount(manager.repository);
      const updated = await manager.post(`${WEB}/update`, { container_image: 'nginx:1.27' });
      expect(updated.status).toBe(202);
      expect(updated.body).toEqual(appRecord('web', { container_image: 'nginx:1.27' }, before.app_id + 2));
      expect(await commitCount(manager.repository)).toBe(commits + 1);
      await expectMended(manager);
      expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);

      await commitInvalid(manager, { [FILE]: SMALL_FLEET['apps/web.yaml'], ...files });
      expect((await manager.delete(WEB)).status).toBe(200);
      expect((await manager.get(WEB)).body).toEqual({ app_exists: false });
      expect(await manager.repository.git('ls-files')).not.toContain('web.yaml');
      await expectMended(manager);
    },
  );

  it('full update fixes it: no id rises if the content is that which devices have', async () => {
    const manager = await managerAfter({ [FILE]: 'container_image: [\n' });
    const { body: before } = await manager.get(WEB);
    const reply = await manager.post(`${WEB}/update`, before);
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(before);
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it('full update fixes it: comments and valid fields of the file stay', async () => {
    const manager = await managerAfter({
      [FILE]: '# ask Pat\ncontainer_image: nginx:1.26 # pinned\nruning: true\n',
    });
    await manager.post(`${WEB}/update`, { container_image: 'nginx:1.26' });
    expect(await manager.repository.show(FILE)).toBe('# ask Pat\ncontainer_image: nginx:1.26 # pinned\n');
  });

  it.each([
    [
      'is converted from Latin-1 to UTF-8',
      Buffer.from('# Gr\u00fc\u00dfe\ncontainer_image: nginx\n', 'latin1'),
      '# Gr\u00fc\u00dfe\n',
    ],
    ['stays above a refused alias', '# ask Pat\ncontainer_image: &a nginx\nvolumes: [*a]\n', '# ask Pat\n'],
  ])('full update fixes it: the comment at the top of the file %s', async (_, before, comment) => {
    const manager = await managerAfter({ [FILE]: before });
    await manager.post(`${WEB}/update`, { container_image: 'nginx:1.27' });
    expect(await manager.repository.show(FILE)).toBe(`${comment}container_image: nginx:1.27\n`);
  });

  it('full update fixes it: a file in another encoding is written as UTF-8, although no value differs', async () => {
    const text = '# Gr\u00fc\u00dfe\ncontainer_image: nginx\n';
    const manager = await managerAfter({ [FILE]: Buffer.from(text, 'latin1') });
    const preview = await manager.post(`${WEB}/update?dry_run=true`, { container_image: 'nginx' });
    expect(preview.body.files).toMatchObject([{ path: FILE, after: text }]);
    await manager.post(`${WEB}/update`, { container_image: 'nginx' });
    expect(await manager.repository.show(FILE)).toBe(text);
    await expectMended(manager);
  });

  it('an app whose file was never valid: full update and delete fix it, create and partial update are 409', async () => {
    const files = {
      'desired-state/apps/odd.yaml': 'image: odd\n',
      'desired-state/apps/odd2.yaml': 'image: odd\n',
    };
    const manager = await managerAfter(files);
    for (const reply of [
      await expectNothingWritten(manager, () => manager.post('/api/v2/apps/odd', { container_image: 'a' })),
      await expectNothingWritten(manager, () => manager.put('/api/v2/apps/odd/update', { running: true })),
    ]) {
      expect(reply.status).toBe(409);
      expect(reply.body.error).toContain('apps/odd.yaml');
    }
    const fixed = await manager.post('/api/v2/apps/odd/update', { container_image: 'odd:1' });
    expect(fixed.status).toBe(202);
    expect(fixed.body).toEqual(appRecord('odd', { container_image: 'odd:1' }, 1));
    expect((await manager.delete('/api/v2/apps/odd2')).status).toBe(200);
    expect((await manager.get('/api/v2/reconcile')).body.problems).toEqual([]);
  });

  it('a device group: an update with its list, by POST or PUT, and delete fix it', async () => {
    const path = 'desired-state/device-groups/edge.yaml';
    const manager = await managerAfter({ [path]: 'apps: [web, cron\n' });
    const { body: before } = await manager.get(EDGE);
    expect(before).toEqual(groupRecord('edge', ['web', 'cron']));
    const byPost = await manager.post(`${EDGE}/update`, { apps: ['web'] });
    const id = before.device_group_id;
    expect([byPost.status, byPost.body]).toEqual([
      202,
      { ...before, apps: ['web'], device_group_id: id + 1 },
    ]);
    await expectMended(manager);
    await commitInvalid(manager, { [path]: 'apps: {}\n' });
    const byPut = await manager.put(`${EDGE}/update`, { apps: [] });
    expect([byPut.status, byPut.body]).toEqual([202, { ...before, apps: [], device_group_id: id + 2 }]);
    await expectMended(manager);
    await commitInvalid(manager, { [path]: 'apps: {}\n' });
    expect((await manager.delete(EDGE)).status).toBe(200);
    await expectMended(manager);
  });

  it('delete of an app while the file of a group that lists it is invalid: 409 naming that file', async () => {
    const manager = await managerAfter({ 'desired-state/device-groups/edge.yaml': 'apps: [web, cron\n' });
    const reply = await expectRefused(manager, 409, () => manager.delete(WEB));
    expect(reply.body.error).toContain('device-groups/edge.yaml');
    expect((await manager.get(`${EDGE}/info`)).body.apps_list).toEqual(['web', 'cron']);
  });

  it('the invalid file of another object does not hold up a write', async () => {
    const manager = await managerAfter({ [FILE]: 'container_image: [\n' });
    expect((await manager.put('/api/v2/apps/cron/update', { privileged: true })).status).toBe(202);
    expect((await manager.post('/api/v2/apps/new', { container_image: 'a' })).status).toBe(200);
    expect((await manager.put(`${EDGE}/update`, { apps: ['web', 'new'] })).status).toBe(202);
    expect((await lastCommit(manager.repository)).files).toEqual(['M desired-state/device-groups/edge.yaml']);
  });
});
