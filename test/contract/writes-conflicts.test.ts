import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { commitCount, expectNothingWritten, expectRefused, lastCommit } from '../support/manager-state.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord, groupRecord, REASON } from './expected.ts';

const WEB = '/api/v2/apps/web';
const FILE = 'desired-state/apps/web.yaml';

describe('docs/contract.md, 10.4: If-Match: "<app_id>" on a write', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  const id = async () => (await manager().get(WEB)).body.app_id as number;

  it.each([
    ['a partial update', 'PUT', `${WEB}/update`, { rolling_restart: true }],
    ['a full update', 'POST', `${WEB}/update`, { container_image: 'other:1' }],
    ['a stop', 'POST', `${WEB}/stop`, undefined],
    ['a start that changes nothing', 'POST', `${WEB}/start`, undefined],
    ['a restart', 'POST', `${WEB}/restart`, undefined],
    ['a delete', 'DELETE', WEB, undefined],
  ])('412 when the app has moved on: %s', async (_, method, path, body) => {
    for (const tag of [(await id()) - 1, (await id()) + 1, 0, '9'.repeat(30)]) {
      const reply = await expectRefused(manager(), 412, () =>
        manager().request(method, path, { body, headers: { 'if-match': `"${tag}"` } }),
      );
      expect(reply.body).toMatchObject({ error: REASON });
    }
  });

  it.each([
    ['the id', (n: number) => `"${n}"`],
    ['a list with the id', (n: number) => `"1", "${n}", "x"`],
    ['a star', () => '*'],
  ])('If-Match holds: %s', async (_, header) => {
    const before = await id();
    const { body } = await manager().get(WEB);
    const headers = { 'if-match': header(before) };
    const reply = await manager().put(`${WEB}/update`, { privileged: !body.privileged }, { headers });
    expect(reply.status).toBe(202);
    expect(reply.body.app_id).toBe(before + 1);
  });

  it.each([
    ['a weak tag', (n: number) => `W/"${n}"`],
    ['the id without quotes', (n: number) => `${n}`],
    ['the id with a leading zero', (n: number) => `"0${n}"`],
    ['the id with a fraction', (n: number) => `"${n}.0"`],
    ['an empty tag', () => '""'],
    ['a blank header', () => ' '],
    ['a word without quotes', () => 'nonsense'],
  ])('If-Match in another form refuses the write, and is never ignored: %s', async (_, header) => {
    const headers = { 'if-match': header(await id()) };
    const reply = await expectNothingWritten(manager(), () =>
      manager().put(`${WEB}/update`, { container_image: 'never:1' }, { headers }),
    );
    expect([400, 412]).toContain(reply.status);
  });

  it.each([
    ['an app, a star', '/api/v2/apps/fresh', '*', { container_image: 'a' }],
    ['an app, an id', '/api/v2/apps/fresh', '"1"', { container_image: 'a' }],
    ['a device group, a star', '/api/v2/device_groups/fresh', '*', { apps: [] }],
  ])(
    'If-Match never holds for an object that does not exist yet (RFC 9110, 13.1.1): %s',
    async (_, path, tag, body) => {
      const headers = { 'if-match': tag };
      const reply = await expectRefused(manager(), 412, () => manager().post(path, body, { headers }));
      expect(reply.body).toMatchObject({ error: REASON });
    },
  );

  it('If-Match holds for exactly one of many concurrent updates with the same id', async () => {
    const before = await id();
    const headers = { 'if-match': `"${before}"` };
    const images = ['race:1', 'race:2', 'race:3', 'race:4'];
    const replies = await Promise.all(
      images.map((container_image) => manager().put(`${WEB}/update`, { container_image }, { headers })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 412, 412, 412]);
    const accepted = replies.find(({ status }) => status === 202);
    expect((await manager().get(WEB)).body).toEqual(accepted?.body);
    expect(await id()).toBe(before + 1);
  });

  it('If-Match holds for exactly one of many concurrent restarts with the same id', async () => {
    const before = await id();
    const headers = { 'if-match': `"${before}"` };
    const replies = await Promise.all(
      [1, 2, 3].map(() => manager().post(`${WEB}/restart`, undefined, { headers })),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([202, 412, 412]);
    expect(await id()).toBe(before + 1);
  });
});

describe('docs/contract.md, 10.5: uncommitted work in the checkout', () => {
  const EDITS: readonly (readonly [string, (m: TestManager, path: string) => Promise<unknown>])[] = [
    ['changed', (m, path) => writeFile(join(m.repository.folder, path), 'container_image: mine:1\n')],
    [
      'changed and staged',
      async (m, path) => {
        await writeFile(join(m.repository.folder, path), 'container_image: mine:1\n');
        await m.repository.git('add', path);
      },
    ],
    ['deleted', (m, path) => rm(join(m.repository.folder, path))],
    ['deleted and staged', (m, path) => m.repository.git('rm', '--quiet', path)],
  ];

  it.each(EDITS)(
    'the very file has uncommitted work in the checkout: 409, nothing changed anywhere: %s',
    async (how, edit) => {
      const manager = await startManager({ files: SMALL_FLEET });
      await edit(manager, FILE);
      for (const [method, path, body] of [
        ['PUT', `${WEB}/update`, { privileged: true }],
        ['POST', `${WEB}/update`, { container_image: 'x' }],
        ['POST', `${WEB}/stop`, undefined],
        ['DELETE', WEB, undefined],
      ] as const) {
        // The contract does not say what happens if a user has deleted the file, and a client deletes the app.
        if (method === 'DELETE' && how.startsWith('deleted')) continue;
        const reply = await expectNothingWritten(manager, () => manager.request(method, path, { body }));
        expect(reply.status, `${method} ${path}`).toBe(409);
        expect(reply.body.error).toContain('apps/web.yaml');
        expect(reply.text).not.toContain(manager.repository.folder);
      }
    },
  );

  it('the log gives the reason for the 409, so that an operator need not ask the client', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await writeFile(join(manager.repository.folder, FILE), 'container_image: mine:1\n');
    const { status, body } = await manager.put(`${WEB}/update`, { privileged: true });
    const line = () => manager.log.find(({ msg, method }) => msg === 'request' && method === 'PUT');
    await expect.poll(line).toMatchObject({ status, reason: body.error });
  });

  it('an uncommitted file has the path of a new one: 409, and the file stays', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const path = join(manager.repository.folder, 'desired-state/apps/new.yaml');
    await writeFile(path, 'container_image: mine:1\n');
    await expectRefused(manager, 409, () => manager.post('/api/v2/apps/new', { container_image: 'a' }));
    expect(await readFile(path, 'utf8')).toBe('container_image: mine:1\n');
  });

  it('only one of the files of a write has uncommitted work: 409 with that file alone', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await writeFile(join(manager.repository.folder, FILE), 'container_image: mine:1\n');
    const reply = await expectNothingWritten(manager, () => manager.delete(WEB));
    expect([reply.status, reply.body.paths]).toEqual([409, ['desired-state/apps/web.yaml']]);
    expect(reply.body.error).toMatch(/^desired-state\/apps\/web\.yaml: /);
  });

  it('the file of a group that lists a deleted app has uncommitted work: 409, nothing changed anywhere', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const path = 'desired-state/device-groups/edge.yaml';
    await writeFile(join(manager.repository.folder, path), 'apps: [cron, web]\n');
    const reply = await expectRefused(manager, 409, () => manager.delete(WEB));
    expect(reply.body.error).toContain('device-groups/edge.yaml');
  });

  it('uncommitted or staged work on other files neither blocks a write nor is touched', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { folder, git } = manager.repository;
    await manager.repository.commit({ 'README.md': 'a\n', 'other.txt': 'a\n' });
    await writeFile(join(folder, 'desired-state/apps/cron.yaml'), 'container_image: mine:1\n');
    await writeFile(join(folder, 'README.md'), 'staged\n');
    await git('add', 'README.md');
    await writeFile(join(folder, 'README.md'), 'staged and more\n');
    await rm(join(folder, 'other.txt'));
    await writeFile(join(folder, 'desired-state/apps/draft.yaml'), 'container_image: draft:1\n');
    const state = async () => [
      await git('status', '--porcelain'),
      await git('diff'),
      await git('diff', '--cached'),
    ];
    const before = await state();
    for (const reply of [
      await manager.put(`${WEB}/update`, { privileged: true }),
      await manager.post('/api/v2/apps/new', { container_image: 'a' }),
      await manager.delete('/api/v2/apps/new'),
      await manager.put('/api/v2/device_groups/edge/update', { apps: ['web'] }),
    ])
      expect(reply.status).toBeLessThan(300);
    expect(await state()).toEqual(before);
    expect((await manager.get('/api/v2/apps')).body.apps).not.toContain('draft');
    expect((await manager.get('/api/v2/apps/cron')).body.container_image).toBe('cron:3');
  });

  it('a write that is refused for uncommitted work does not hold up concurrent writes of other files', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await writeFile(join(manager.repository.folder, FILE), 'container_image: mine:1\n');
    const replies = await Promise.all([
      manager.put(`${WEB}/update`, { privileged: true }),
      manager.put('/api/v2/apps/cron/update', { privileged: true }),
      manager.post('/api/v2/apps/new', { container_image: 'a' }),
      manager.post(`${WEB}/stop`),
    ]);
    expect(replies.map(({ status }) => status)).toEqual([409, 202, 200, 409]);
    expect(await commitCount(manager.repository)).toBe(3);
  });
});

describe('docs/contract.md, 10.5: Detached HEAD; branch without a commit', () => {
  it('detached HEAD: reads follow HEAD, writes 409 naming it', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.repository.commit({ [FILE]: 'container_image: nginx:1.27\n' });
    await manager.reconcile();
    await manager.repository.git('checkout', '--quiet', '--detach', 'HEAD~1');
    await manager.reconcile();
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.26');
    for (const [method, path, body] of [
      ['PUT', `${WEB}/update`, { privileged: true }],
      ['POST', '/api/v2/apps/new', { container_image: 'a' }],
      ['DELETE', WEB, undefined],
      ['POST', `${WEB}/stop`, undefined],
      ['POST', '/api/v2/device_groups/new', { apps: [] }],
    ] as const) {
      const reply = await expectNothingWritten(manager, () => manager.request(method, path, { body }));
      expect(reply.status, path).toBe(409);
      expect(reply.body.error).toMatch(/HEAD/);
    }
    expect((await manager.post(`${WEB}/restart`)).status).toBe(202);
    await manager.repository.git('checkout', '--quiet', 'main');
    await manager.reconcile();
    expect((await manager.get(WEB)).body.container_image).toBe('nginx:1.27');
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
  });

  it('reads and writes follow HEAD to another branch that is checked out', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const main = await manager.repository.git('rev-parse', 'main');
    await manager.repository.git('checkout', '--quiet', '-b', 'next');
    expect((await manager.put(`${WEB}/update`, { privileged: true })).status).toBe(202);
    expect((await manager.get(WEB)).body.privileged).toBe(true);
    expect(await manager.repository.git('rev-parse', 'main')).toBe(main);
    expect(await manager.repository.git('rev-list', '--count', 'next')).toBe('2');
  });

  it('a branch without a commit: an empty fleet, and the first write makes the first commit', async () => {
    const manager = await startManager();
    expect((await manager.get('/api/v2/apps')).body).toEqual({ apps: [] });
    expect((await manager.get('/api/v2/device_groups')).body).toEqual({ device_groups: [] });
    expect((await manager.get(WEB)).body).toEqual({ app_exists: false });
    expect((await manager.get('/api/v2/device_groups/edge')).body).toEqual({ device_group_exists: false });
    // Not 403, on which devices stop their containers: a device that polls shows that there was a fleet.
    const info = await manager.get('/api/v2/device_groups/edge/info');
    expect([info.status, info.text]).toEqual([503, 'nothing has been applied yet; try again\n']);
    expect((await manager.post('/api/v2/prune')).body).toEqual({ prune_ids: {} });
    const reply = await manager.post(WEB, { container_image: 'first:1' });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord('web', { container_image: 'first:1' }, 1));
    expect(await commitCount(manager.repository)).toBe(1);
    const commit = await lastCommit(manager.repository);
    expect(commit.files).toEqual(['A desired-state/apps/web.yaml']);
    expect(reply.headers.get('holdfast-revision')).toBe(commit.id);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
    const group = await manager.post('/api/v2/device_groups/edge', { apps: ['web'] });
    expect(group.body).toEqual(groupRecord('edge', ['web'], { device_group_id: 1, prune_id: 1 }));
    expect(await manager.repository.git('rev-list', '--count', 'main')).toBe('2');
  });
});
