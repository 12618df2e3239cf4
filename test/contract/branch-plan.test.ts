import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { suiteManager } from '../support/suite.ts';

const WEB_2 = { 'apps/web.yaml': 'container_image: nginx:2\n' };

describe('GET /plan', () => {
  const suite = suiteManager({ files: SMALL_FLEET });

  it('plans a branch of the clone, without undoing what others have changed since it began', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    const begun = await repository.git('rev-parse', 'HEAD');
    await repository.git('switch', '--quiet', '--create', 'topic');
    const topic = await repository.commit(
      inDesiredState({ ...WEB_2, 'apps/bad.yaml': 'container_image: 1\n' }),
    );
    await repository.git('switch', '--quiet', 'main');
    const head = await repository.commit(inDesiredState({ 'apps/cron.yaml': 'container_image: cron:9\n' }));
    await manager.reconcile();
    const { status, body } = await manager.get('/api/v2/plan?revision=topic');
    expect(status).toBe(200);
    expect(body).toEqual({
      revision: topic,
      base: head,
      merge_base: begun,
      steps: [expect.objectContaining({ kind: 'app', name: 'web', action: 'update' })],
      effects: [{ app: 'web', action: 'restart', groups: ['edge'], devices: null }],
      problems: [expect.objectContaining({ file: 'apps/bad.yaml' })],
    });
    expect((await manager.get(`/api/v2/plan?revision=${topic.slice(0, 8)}`)).body).toEqual(body);
    expect(await repository.git('rev-parse', 'HEAD')).toBe(head);
  });

  it.each([
    ['an unknown name', 'nope', 404],
    ['an expression of git', 'main~1', 404],
    ['an option of git', '--output=x', 404],
    ['nothing', '', 400],
  ])('refuses %s', async (_, revision, status) => {
    expect((await suite().get(`/api/v2/plan?revision=${encodeURIComponent(revision)}`)).status).toBe(status);
  });

  it.each([
    ['pr/12', 'refs/pull/12/head', 'git fetch origin pull/12/head:pr/12'],
    ['mr/7', 'refs/merge-requests/7/head', 'git fetch origin merge-requests/7/head:mr/7'],
  ])('says how a clone comes to have %s, and plans it then', async (name, ref, command) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    await repository.git('remote', 'add', 'origin', origin.url);
    await repository.git('switch', '--quiet', '--create', 'topic');
    const topic = await repository.commit(inDesiredState(WEB_2));
    await repository.git('switch', '--quiet', 'main');
    await repository.git('push', '--quiet', 'origin', `topic:${ref}`);
    const absent = await manager.get(`/api/v2/plan?revision=${name}`);
    expect(absent).toMatchObject({
      status: 404,
      body: { revision_exists: false, hint: expect.stringContaining(command) },
    });
    await repository.git(...command.split(' ').slice(1), '--quiet');
    const { status, body } = await manager.get(`/api/v2/plan?revision=${name}`);
    expect([status, body.revision]).toEqual([200, topic]);
  });

  it('refuses a branch that has no commit in common', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    await manager.repository.git('switch', '--quiet', '--orphan', 'other');
    await manager.repository.commit(inDesiredState(WEB_2));
    await manager.repository.git('switch', '--quiet', 'main');
    await manager.reconcile();
    expect((await manager.get('/api/v2/plan?revision=other')).status).toBe(409);
  });
});

describe('GET /plan of a branch that began before others changed the same files', () => {
  const LIST = (...apps: string[]) => `apps:\n${apps.map((app) => `  - ${app}\n`).join('')}`;
  const APP = (fields: Record<string, unknown> = {}) => {
    const all = {
      container_image: 'web:1',
      starting_ports: [],
      running: true,
      env_vars: { A: '1', B: '2' },
      ...fields,
    };
    return Object.entries(all)
      .map(([name, value]) => `# The ${name}.\n${name}: ${JSON.stringify(value)}\n`)
      .join('');
  };

  /** Starts with files, of which a branch `topic` changes some, and others `main`, by git. */
  async function diverged(
    files: Record<string, string>,
    topic: Record<string, string | null>,
    main: Record<string, string | null>,
  ) {
    const manager = await startManager({ files });
    const { repository } = manager;
    await repository.git('switch', '--quiet', '--create', 'topic');
    const revision = await repository.commit(inDesiredState(topic));
    await repository.git('switch', '--quiet', 'main');
    const base = await repository.commit(inDesiredState(main));
    await manager.reconcile();
    return { manager, revision, base };
  }

  const stepsOf = (body: { steps: { name: string; action: string; fields: string[] }[] }) =>
    body.steps.map(({ name, action, fields }) => [name, action, ...fields].join(' '));

  it('keeps other fields of a file as they are now', async () => {
    const { manager, base } = await diverged(
      { 'apps/web.yaml': APP() },
      { 'apps/web.yaml': APP({ env_vars: { A: '1', B: '3' } }) },
      { 'apps/web.yaml': APP({ running: false, container_image: 'web:2' }) },
    );
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect(body).toMatchObject({ base, problems: [], effects: [] });
    expect(stepsOf(body)).toEqual(['web update env_vars']);
    expect(body.steps[0].after).toMatchObject({ running: false, container_image: 'web:2' });
  });

  it('finds the file that was moved meanwhile', async () => {
    const { manager } = await diverged(
      { 'apps/web.yaml': APP() },
      { 'apps/web.yaml': APP({ env_vars: { A: '1', B: '3' } }) },
      { 'apps/web.yaml': null, 'apps/shop/web.yaml': APP() },
    );
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect([stepsOf(body), body.problems]).toEqual([['web update env_vars'], []]);
  });

  it('leaves in a group what was added to it meanwhile', async () => {
    const apps = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const files = Object.fromEntries(apps.map((app) => [`apps/${app}.yaml`, APP()]));
    const { manager } = await diverged(
      { ...files, 'device-groups/lab.yaml': LIST('b', 'c', 'd', 'e', 'f') },
      { 'device-groups/lab.yaml': LIST('a', 'b', 'c', 'd', 'e', 'f') },
      { 'device-groups/lab.yaml': LIST('b', 'c', 'd', 'e', 'f', 'g') },
    );
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect(body.steps[0].after.apps).toEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g']);
  });

  it('names each conflict, and leaves its object as it is', async () => {
    const { manager } = await diverged(
      { 'apps/web.yaml': APP(), 'apps/db.yaml': APP(), 'apps/old.yaml': APP() },
      {
        'apps/web.yaml': APP({ container_image: 'web:2' }),
        'apps/db.yaml': APP({ running: false }),
        'apps/old.yaml': null,
      },
      { 'apps/web.yaml': APP({ container_image: 'web:3' }), 'apps/old.yaml': APP({ running: false }) },
    );
    await manager.repository.git('tag', 'before');
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect(stepsOf(body)).toEqual(['db update running']);
    const place = { line: 1, column: 1, code: 'merge-conflict', severity: 'error' };
    expect(body.problems).toEqual([
      { ...place, file: 'apps/old.yaml', message: expect.stringContaining('resolve') },
      { ...place, file: 'apps/web.yaml', message: expect.stringContaining('resolve') },
    ]);
    expect(await manager.repository.git('status', '--porcelain')).toBe('');
  });

  it('names a conflict outside the folder', async () => {
    const manager = await startManager({ files: SMALL_FLEET });
    const { repository } = manager;
    for (const branch of ['topic', 'main']) {
      await repository.git('switch', '--quiet', ...(branch === 'main' ? [] : ['--create']), branch);
      await repository.commit({ 'notes.txt': branch });
    }
    await manager.reconcile();
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect(body).toMatchObject({ steps: [], problems: [{ file: '../notes.txt', code: 'merge-conflict' }] });
  });

  it('runs no merge driver of the clone, and leaves nothing behind', async () => {
    const { manager } = await diverged(
      { 'apps/web.yaml': APP(), '../.gitattributes': '*.yaml merge=evil\n' },
      { 'apps/web.yaml': APP({ env_vars: {} }) },
      { 'apps/web.yaml': APP({ running: false }) },
    );
    const canary = join(manager.repository.folder, 'canary');
    await manager.repository.git('config', 'merge.evil.driver', `touch ${canary}`);
    const before = await readdir(manager.dataFolder);
    const { body } = await manager.get('/api/v2/plan?revision=topic');
    expect([stepsOf(body), body.problems]).toEqual([['web update env_vars'], []]);
    expect(existsSync(canary)).toBe(false);
    expect(await readdir(manager.dataFolder)).toEqual(before);
  });
});

describe('GET /plan of a remote repository', () => {
  it('fetches a branch, a tag with a message and a pull request, and keeps no ref of them', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const { user } = origin;
    await user.git('fetch', '--quiet', 'origin');
    await user.git('switch', '--quiet', '--create', 'topic', 'origin/main');
    const topic = await user.commit(inDesiredState(WEB_2));
    await user.git('tag', '--annotate', '--message', 'two', 'v2');
    const refs = ['HEAD:refs/heads/topic', 'v2', 'HEAD:refs/pull/12/head', 'HEAD:refs/merge-requests/7/head'];
    await user.git('push', '--quiet', 'origin', ...refs);
    for (const name of ['topic', 'v2', 'pr/12', 'mr/7', topic]) {
      const { status, body } = await manager.get(`/api/v2/plan?revision=${name}`);
      expect([name, status, body.revision]).toEqual([name, 200, topic]);
      expect(body.steps).toEqual([expect.objectContaining({ name: 'web', action: 'update' })]);
    }
    for (const name of ['pr/13', 'nope', '0'.repeat(40)])
      expect((await manager.get(`/api/v2/plan?revision=${name}`)).status).toBe(404);
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('nginx:1.26');
  });

  it('follows a branch that moves at origin', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const { user } = origin;
    await user.git('fetch', '--quiet', 'origin');
    await user.git('switch', '--quiet', '--create', 'topic', 'origin/main');
    for (const image of ['nginx:2', 'nginx:3']) {
      const revision = await user.commit(inDesiredState({ 'apps/web.yaml': `container_image: ${image}\n` }));
      await user.git('push', '--quiet', 'origin', 'HEAD:refs/heads/topic');
      const { body } = await manager.get('/api/v2/plan?revision=topic');
      expect([body.revision, body.steps[0].after.container_image]).toEqual([revision, image]);
    }
  });

  it('is made anew once another commit of the branch is applied: what that has brought is no step any more', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const { user } = origin;
    await user.git('fetch', '--quiet', 'origin');
    await user.git('switch', '--quiet', '--create', 'topic', 'origin/main');
    const revision = await user.commit(inDesiredState(WEB_2));
    await user.git('push', '--quiet', 'origin', 'HEAD:refs/pull/12/head');
    const plan = async () => (await manager.get('/api/v2/plan?revision=pr/12')).body;
    const first = await plan();
    expect(await plan()).toEqual(first);
    const base = await origin.push(inDesiredState(WEB_2));
    await manager.reconcile();
    expect(first).toMatchObject({ revision, steps: [{ name: 'web' }] });
    expect(await plan()).toMatchObject({ revision, base, steps: [], effects: [] });
  });
});
