import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { startManager, type TestManager } from '../support/manager.ts';
import { lastCommit } from '../support/manager-state.ts';
import type { Reply } from '../support/reply.ts';

type Files = Readonly<Record<string, string | null>>;

const WEB = '# the shop\ncontainer_image: web:1 # pinned\nenv_vars: {LEVEL: info}\n';
const FLEET = {
  'apps/web.yaml': WEB,
  'apps/cron.yaml': 'container_image: cron:1\n',
  'device-groups/edge.yaml': 'apps: [web, cron]\n',
};

/** A manager that has applied `FLEET` and then each of these changes; `commits` has their ids, from `FLEET` on. */
async function followed(...changes: Files[]): Promise<{ manager: TestManager; commits: string[] }> {
  const manager = await startManager({ files: FLEET });
  const commits = [await manager.repository.git('rev-parse', 'HEAD')];
  for (const files of changes) {
    commits.push(await manager.repository.commit(inDesiredState<string | null>(files)));
    await manager.reconcile();
  }
  return { manager, commits };
}

const rollback = (manager: TestManager, body: object, query = ''): Promise<Reply> =>
  manager.post(`/api/v2/rollback${query}`, { reason: 'a reason', ...body });
const head = ({ repository }: TestManager): Promise<string> => repository.git('rev-parse', 'HEAD');
const idOf = async (manager: TestManager, app: string): Promise<number> =>
  (await manager.get(`/api/v2/apps/${app}`)).body.app_id;

describe('POST /rollback to a revision', () => {
  it('commits the bytes of the file then, with the reason and the trailer, and answers with the higher id', async () => {
    const { manager, commits } = await followed({ 'apps/web.yaml': 'container_image: web:2\n' });
    const before = await idOf(manager, 'web');
    const { status, body } = await rollback(manager, {
      to: commits[0],
      objects: ['app/web'],
      reason: '500s',
    });
    expect([status, body]).toEqual([202, { revision: await head(manager), ids: { 'app/web': before + 1 } }]);
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toBe(WEB);
    const message = await manager.repository.git('log', '-1', '--format=%an%n%B');
    expect(message).toMatch(
      /^operator\napp web: restore to \w{12} \(container_image 2 -> 1, env_vars\)\n\n500s\n\n/,
    );
    expect(message).toContain(`\nRestores: ${commits[0]}\n`);
  });

  it('sticks: passes, a restart of the manager and the next push leave it as it is', async () => {
    const { manager, commits } = await followed({ 'apps/web.yaml': 'container_image: web:2\n' });
    const { body } = await rollback(manager, { to: commits[0], objects: ['app/web'] });
    await manager.reconcile();
    const again = await manager.restart();
    await again.repository.commit(inDesiredState({ 'apps/cron.yaml': 'container_image: cron:2\n' }));
    await again.reconcile();
    expect((await again.get('/api/v2/apps/web')).body).toMatchObject({
      container_image: 'web:1',
      app_id: body.ids['app/web'],
    });
  });

  it('brings back a deleted app with its comments, above every id that it ever had', async () => {
    const { manager, commits } = await followed();
    const before = await idOf(manager, 'web');
    await manager.delete('/api/v2/apps/web');
    const { body } = await rollback(manager, { to: commits[0], group: 'edge', with_apps: true });
    expect(body.ids['app/web']).toBeGreaterThan(before);
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toBe(WEB);
    expect((await manager.get('/api/v2/device_groups/edge')).body.apps).toEqual(['web', 'cron']);
  });

  it('needs an app that a group listed then, and brings it back with with_dependencies', async () => {
    const { manager, commits } = await followed({
      'apps/web.yaml': null,
      'device-groups/edge.yaml': 'apps: [cron]\n',
    });
    const body = { to: commits[0], objects: ['device_group/edge'] };
    const needs = [{ object: 'app/web', why: `edge listed it, deleted in ${commits[1]?.slice(0, 12)}` }];
    expect(await rollback(manager, body)).toMatchObject({ status: 409, body: { needs } });
    expect(await rollback(manager, body, '?dry_run=true')).toMatchObject({ status: 200, body: { needs } });
    const { status } = await rollback(manager, { ...body, with_dependencies: true });
    expect([status, await manager.repository.git('diff', '--name-only', commits[0] ?? '', 'HEAD')]).toEqual([
      202,
      '',
    ]);
  });

  it('takes everything back with all, and deletes what is new only with allow_delete', async () => {
    const { manager, commits } = await followed({
      'apps/web.yaml': 'container_image: web:2\n',
      'apps/new.yaml': 'container_image: new:1\n',
      'device-groups/edge.yaml': 'apps: [web, new]\n',
    });
    const body = { to: commits[0], all: true };
    const refused = await rollback(manager, body);
    expect([refused.status, refused.body.needs]).toEqual([
      409,
      [{ object: 'app/new', why: expect.any(String) }],
    ]);
    expect((await rollback(manager, { ...body, allow_delete: true })).status).toBe(202);
    expect(await manager.repository.git('diff', '--name-only', commits[0] ?? '', 'HEAD')).toBe('');
    expect((await manager.get('/api/v2/apps/new')).status).toBe(403);
  });

  it('keeps one file of an object that has several, with its bytes then', async () => {
    const { manager, commits } = await followed({ 'apps/shop/web.yaml': 'container_image: web:2\n' });
    const { status } = await rollback(manager, { to: commits[0], objects: ['app/web'] });
    expect([status, await manager.repository.git('diff', '--name-only', commits[0] ?? '', 'HEAD')]).toEqual([
      202,
      '',
    ]);
  });

  it('makes no commit if nothing differs', async () => {
    const { manager, commits } = await followed({ 'apps/cron.yaml': 'container_image: cron:2\n' });
    expect(await rollback(manager, { to: commits[0], objects: ['app/web'] })).toMatchObject({
      status: 202,
      body: { revision: null },
    });
    expect(await head(manager)).toBe(commits[1]);
  });

  it('names problems and the newest valid version if the file then is not valid', async () => {
    const { manager, commits } = await followed(
      { 'apps/web.yaml': 'container_image: [\n' },
      { 'apps/web.yaml': 'container_image: web:3\n' },
    );
    const { status, body } = await rollback(manager, { to: commits[1], objects: ['app/web'] });
    expect(status).toBe(409);
    expect(body).toMatchObject({ problems: [{ file: 'apps/web.yaml', line: 2 }], newest_valid: commits[0] });
  });

  it('shows with dry_run=true what it would commit, and what others changed since, and changes nothing', async () => {
    const { manager, commits } = await followed(
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2') },
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2').replace('info', 'debug') },
    );
    const wanted = { to: commits[0], objects: ['app/web'] };
    const { status, body } = await rollback(manager, wanted, '?dry_run=true');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      base: commits[2],
      files: [{ path: 'desired-state/apps/web.yaml', after: WEB }],
      steps: [{ kind: 'app', name: 'web', action: 'update', fields: ['container_image', 'env_vars'] }],
      effects: [{ app: 'web', action: 'restart', groups: ['edge'] }],
      also_lost: [
        { object: 'app/web', field: 'container_image', by: commits[1], actor: 'Pat' },
        { object: 'app/web', field: 'env_vars.LEVEL', by: commits[2], actor: 'Pat' },
      ],
      also_lost_complete: true,
      needs: [],
    });
    expect(await head(manager)).toBe(commits[2]);
    await rollback(manager, wanted);
    expect(await manager.repository.git('log', '-1', '--format=%s')).toBe(body.subject);
  });
});

it('POST /rollback names the commit that changed a field, not one that moved the file or its comments', async () => {
  const { manager, commits } = await followed(
    { 'apps/web.yaml': WEB.replace('web:1', 'web:2') },
    { 'apps/web.yaml': WEB.replace('web:1', 'web:3') },
    { 'apps/web.yaml': null, 'apps/shop/web.yaml': WEB.replace('web:1', 'web:3') },
    { 'apps/shop/web.yaml': WEB.replace('web:1', 'web:3').replace('pinned', 'fixed') },
  );
  const changed = { object: 'app/web', field: 'container_image', by: commits[2], actor: 'Pat' };
  const preview = await rollback(manager, { to: commits[0], objects: ['app/web'] }, '?dry_run=true');
  expect(preview.body.also_lost).toEqual([changed]);
  expect((await rollback(manager, { undo: commits[1] })).body.conflicts).toEqual([changed]);
});

describe('POST /rollback of a commit', () => {
  it('takes back its fields, and keeps later changes of the same file', async () => {
    const { manager, commits } = await followed(
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2') },
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2').replace('info', 'debug') },
    );
    expect((await rollback(manager, { undo: commits[1] })).status).toBe(202);
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toBe(WEB.replace('info', 'debug'));
    expect(await manager.repository.git('log', '-1', '--format=%(trailers:key=Undoes,valueonly)')).toContain(
      commits[1],
    );
    expect((await rollback(manager, { undo: commits[1] })).body).toEqual({ revision: null, ids: {} });
  });

  it('raises ids when it is taken back itself', async () => {
    const { manager, commits } = await followed({ 'apps/web.yaml': WEB.replace('web:1', 'web:2') });
    const ids = [await idOf(manager, 'web')];
    for (let undone = commits[1]; ids.length < 4; undone = await head(manager))
      ids.push((await rollback(manager, { undo: undone })).body.ids['app/web']);
    expect(ids).toEqual([2, 3, 4, 5].map((step) => (ids[0] ?? 0) + step - 2));
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toBe(WEB);
  });

  it('has nothing to take back of a move, also if the file was changed since', async () => {
    const { manager, commits } = await followed(
      { 'apps/web.yaml': null, 'apps/shop/web.yaml': WEB },
      { 'apps/shop/web.yaml': WEB.replace('web:1', 'web:2') },
    );
    expect(await rollback(manager, { undo: commits[1] })).toMatchObject({
      status: 202,
      body: { revision: null, ids: {} },
    });
  });

  it('removes the second file of an object that had one then, and keeps the object', async () => {
    const { manager, commits } = await followed({ 'apps/shop/web.yaml': WEB });
    const restored = await rollback(manager, { to: commits[0], objects: ['app/web'] });
    expect([restored.status, Object.keys(restored.body.ids)]).toEqual([202, ['app/web']]);
    expect((await lastCommit(manager.repository)).files).toEqual(['D desired-state/apps/shop/web.yaml']);
    expect((await manager.get('/api/v2/apps/web')).body.container_image).toBe('web:1');
  });

  it('deletes no object that has several files', async () => {
    const { manager, commits } = await followed({ 'apps/shop/web.yaml': WEB });
    expect(await rollback(manager, { undo: commits[1] })).toMatchObject({
      status: 409,
      body: { conflicts: [{ object: 'app/web', field: null, by: commits[1] }] },
    });
    expect(await head(manager)).toBe(commits[1]);
  });

  it('is a conflict for a field that was changed again, and commits nothing', async () => {
    const { manager, commits } = await followed(
      { 'apps/web.yaml': WEB.replace('web:1', 'web:2') },
      { 'apps/web.yaml': WEB.replace('web:1', 'web:3') },
    );
    const { status, body } = await rollback(manager, { undo: commits[1] });
    const conflict = { object: 'app/web', field: 'container_image', by: commits[2], actor: 'Pat' };
    expect([status, body.conflicts, await head(manager)]).toEqual([409, [conflict], commits[2]]);
  });
});

describe('POST /rollback refuses', () => {
  it.each<[string, object, number, object]>([
    [
      'a body without a reason',
      { reason: undefined, to: 'HEAD', all: true },
      400,
      { missing_parameters: ['reason'] },
    ],
    ['neither to nor undo', {}, 400, { missing_parameters: ['to'] }],
    ['to without objects', { to: 'main' }, 400, { invalid_parameters: { to: expect.any(String) } }],
    [
      'both',
      { to: 'main', all: true, undo: 'main' },
      400,
      { invalid_parameters: { to: expect.any(String) } },
    ],
    [
      'an unknown field',
      { undo: 'main', force: true },
      400,
      { invalid_parameters: { force: expect.any(String) } },
    ],
    [
      'a bad object',
      { to: 'main', objects: ['web'] },
      400,
      { invalid_parameters: { objects: expect.any(String) } },
    ],
    [
      'with_apps without a group',
      { to: 'main', all: true, with_apps: true },
      400,
      { invalid_parameters: { with_apps: 'is an option of "group"' } },
    ],
    [
      'an empty reason, and an empty list',
      { to: 'main', objects: [], reason: ' ' },
      400,
      { invalid_parameters: { reason: 'must not be empty', objects: 'must not be empty' } },
    ],
    ['an unknown revision', { to: 'nope', all: true }, 404, { revision_exists: false }],
    ['an expression of git', { undo: 'main~1' }, 404, { revision_exists: false }],
    ['an object of no time', { to: 'main', objects: ['app/nope'] }, 403, { app_exists: false }],
  ])('%s', async (_, wanted, status, body) => {
    const { manager, commits } = await followed();
    expect(await rollback(manager, wanted)).toMatchObject({ status, body });
    expect(await head(manager)).toBe(commits[0]);
  });

  it('a Holdfast-Base after which one of the objects has changed', async () => {
    const { manager, commits } = await followed({ 'apps/web.yaml': 'container_image: web:2\n' });
    const body = { reason: 'x', to: commits[0], objects: ['app/web'] };
    const headers = { 'holdfast-base': commits[0] ?? '' };
    expect((await manager.post('/api/v2/rollback', body, { headers })).status).toBe(412);
  });
});

it('POST /rollback and pushes to the same file leave one commit each, or a 409', async () => {
  const { manager, commits } = await followed({ 'apps/web.yaml': WEB.replace('web:1', 'web:2') });
  for (let round = 0; round < 5; round++) {
    const text = WEB.replace('web:1', `web:${round + 3}`);
    const [{ status, body }, pushed] = await Promise.all([
      rollback(manager, { to: commits[0], objects: ['app/web'] }),
      manager.repository.commit(inDesiredState({ 'apps/web.yaml': text })).catch(() => null),
    ]);
    expect([202, 409]).toContain(status);
    await manager.reconcile();
    const log = (await manager.repository.git('log', '--format=%H')).split('\n');
    if (status === 202 && body.revision !== null) expect(log).toContain(body.revision);
    if (pushed !== null) expect(log).toContain(pushed);
    const served = (await manager.get('/api/v2/apps/web')).body.container_image;
    expect(await manager.repository.show('desired-state/apps/web.yaml')).toContain(
      `container_image: ${served}`,
    );
    await manager.repository.git('checkout', '--quiet', '--force', 'main');
  }
});
