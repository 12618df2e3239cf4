import { beforeEach, describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import {
  changedLines,
  commitCount,
  expectNothingWritten,
  expectRefused,
  lastCommit,
} from '../support/manager-state.ts';
import { sendRaw } from '../support/raw-request.ts';
import { suiteManager } from '../support/suite.ts';
import { appRecord, INVALID_NAMES } from './expected.ts';

const WEB = { container_image: 'nginx:1.26', starting_ports: [80] };

describe('docs/contract.md, 3: Start, stop, restart', () => {
  const manager = suiteManager({ files: SMALL_FLEET });
  beforeEach(async () => void (await manager().post('/api/v2/apps/web/start')));

  it('running = true, POST stop: running = false, 202 with the updated app record', async () => {
    const { body: before } = await manager().get('/api/v2/apps/web');
    const commits = await commitCount(manager().repository);
    const reply = await manager().post('/api/v2/apps/web/stop');
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(appRecord('web', { ...WEB, running: false }, before.app_id + 1));
    expect(await commitCount(manager().repository)).toBe(commits + 1);
    expect(await changedLines(manager().repository, 'desired-state/apps/web.yaml')).toEqual([
      '+running: false',
    ]);
    expect((await lastCommit(manager().repository)).subject).toBe('app web: running true -> false');
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('running = false, POST start: running = true, 202 with the updated app record', async () => {
    const { body: before } = await manager().post('/api/v2/apps/web/stop');
    const reply = await manager().post('/api/v2/apps/web/start');
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(appRecord('web', WEB, before.app_id + 1));
    expect((await manager().get('/api/v2/apps/web')).body).toEqual(reply.body);
  });

  it('any, POST restart: running = true, 202 with the app record', async () => {
    for (const action of ['start', 'stop']) {
      const { body: before } = await manager().post(`/api/v2/apps/web/${action}`);
      const reply = await manager().post('/api/v2/apps/web/restart');
      expect(reply.status).toBe(202);
      expect(reply.body).toEqual(appRecord('web', WEB, before.app_id + 1));
      expect((await manager().get('/api/v2/apps/web')).body).toEqual(reply.body);
    }
  });
});

describe('docs/contract.md, 3: actions', () => {
  const manager = suiteManager({ files: SMALL_FLEET });

  it.each([
    ['Start on a running app', 'web', 'start'],
    ['stop on a stopped one', 'cron', 'stop'],
  ])('%s: 202 with the record as it is: no commit, same app_id', async (_, name, action) => {
    const { body: before } = await manager().get(`/api/v2/apps/${name}`);
    const reply = await expectNothingWritten(manager(), () =>
      manager().post(`/api/v2/apps/${name}/${action}`),
    );
    expect(reply.status).toBe(202);
    expect(reply.body).toEqual(before);
  });

  it('Restart: app_id +1, exactly, always, and no commit', async () => {
    const commits = await commitCount(manager().repository);
    const { body: before } = await manager().get('/api/v2/apps/web');
    for (const step of [1, 2, 3]) {
      const { body } = await manager().post('/api/v2/apps/web/restart');
      expect(body.app_id).toBe(before.app_id + step);
    }
    expect(await commitCount(manager().repository)).toBe(commits);
    expect(await manager().repository.git('status', '--porcelain')).toBe('');
  });

  it('Restart: app_id +1 for each of five at once', async () => {
    const { body: before } = await manager().get('/api/v2/apps/web');
    const replies = await Promise.all([1, 2, 3, 4, 5].map(() => manager().post('/api/v2/apps/web/restart')));
    expect(replies.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202]);
    expect((await manager().get('/api/v2/apps/web')).body.app_id).toBe(before.app_id + 5);
  });

  it('Restart: a stopped app becomes running: true, and that part is a commit', async () => {
    const commits = await commitCount(manager().repository);
    const { body: before } = await manager().get('/api/v2/apps/cron');
    const { body } = await manager().post('/api/v2/apps/cron/restart');
    expect(body).toEqual(appRecord('cron', { container_image: 'cron:3' }, before.app_id + 1));
    expect(await commitCount(manager().repository)).toBe(commits + 1);
    expect((await lastCommit(manager().repository)).subject).toBe('app cron: running false -> true');
    await manager().post('/api/v2/apps/cron/stop');
  });

  it('Restart: app_id +1 for each of three at once, of which the first starts the app', async () => {
    await manager().post('/api/v2/apps/cron/stop');
    const { body: before } = await manager().get('/api/v2/apps/cron');
    const replies = await Promise.all([1, 2, 3].map(() => manager().post('/api/v2/apps/cron/restart')));
    const ids = replies.map(({ body }) => body.app_id - before.app_id).sort();
    expect(ids).toEqual([1, 2, 3]);
    await manager().post('/api/v2/apps/cron/stop');
  });

  it('Restart: other apps and the groups keep their ids', async () => {
    const others = ['/api/v2/apps/cron', '/api/v2/device_groups/edge'];
    const before = await Promise.all(others.map(async (path) => (await manager().get(path)).body));
    await manager().post('/api/v2/apps/web/restart');
    expect(await Promise.all(others.map(async (path) => (await manager().get(path)).body))).toEqual(before);
  });

  it.each(['stop', 'start', 'restart'])('%s of an unknown app: 403 app_exists: false', async (action) => {
    const reply = await expectRefused(manager(), 403, () => manager().post(`/api/v2/apps/nope/${action}`));
    expect(reply.body).toEqual({ app_exists: false });
  });

  it('Get of an unknown app: 403 app_exists: false', async () => {
    const reply = await manager().get('/api/v2/apps/nope');
    expect(reply.status).toBe(403);
    expect(reply.body).toEqual({ app_exists: false });
  });

  it.each(['', '/stop', '/start', '/restart'])(
    'Names: anything else is 400: .../{app_name}%s',
    async (action) => {
      for (const [, name] of INVALID_NAMES) {
        const method = action === '' ? 'GET' : 'POST';
        const reply = await sendRaw(manager(), { method, path: `/api/v2/apps/${name}${action}` });
        expect(reply.status, name).toBe(400);
      }
    },
  );

  it('GET /api/v2/apps/{app_name}: 200 with every field, defaults filled in, and nothing else', async () => {
    const reply = await manager().get('/api/v2/apps/web');
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual(appRecord('web', WEB));
  });

  it('GET /api/v2/apps: 200 with the app names', async () => {
    const reply = await manager().get('/api/v2/apps');
    expect(reply.status).toBe(200);
    expect(Object.keys(reply.body)).toEqual(['apps']);
    expect([...reply.body.apps].sort()).toEqual(['cron', 'web']);
  });
});
