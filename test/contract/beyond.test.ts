import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, startManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import { ENDLESS_MESSAGES, serveSsh } from '../support/ssh-origin.ts';
import { suiteManager } from '../support/suite.ts';
import { REASON } from './expected.ts';

describe('docs/contract.md, 4.5: Beyond the original API', () => {
  const now = Date.UTC(2033, 4, 18, 3, 33, 20);
  const manager = suiteManager({ files: SMALL_FLEET, now: () => now });
  const head = () => manager().repository.git('rev-parse', 'HEAD');

  it.each(['/healthz', '/readyz'])('%s: no credentials, {"status": "ok"}', async (path) => {
    const reply = await manager().get(path, { authorization: null });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ status: 'ok' });
  });

  it('GET /api/v2/status: 200 with api_available: true', async () => {
    const reply = await manager().get('/api/v2/status');
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ api_available: true });
  });

  it('GET /api/v2/reconcile: revision attempted, revision applied, when, problems', async () => {
    const reply = await manager().get('/api/v2/reconcile');
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      revision_attempted: await head(),
      attempted_at: '2033-05-18T03:33:20.000Z',
      revision_applied: await head(),
      applied_at: '2033-05-18T03:33:20.000Z',
      problems: [],
    });
  });

  it('POST /api/v2/reconcile: look at origin now; answers 200 when the pass is done', async () => {
    for (const round of [1, 2, 3]) {
      const revision = await manager().repository.commit({
        'desired-state/apps/web.yaml': `container_image: nginx:${round}\n`,
      });
      const reply = await manager().post('/api/v2/reconcile');
      expect(reply.status).toBe(200);
      expect(reply.body).toMatchObject({ revision_attempted: revision, revision_applied: revision });
      expect((await manager().get('/api/v2/apps/web')).body.container_image).toBe(`nginx:${round}`);
    }
  });

  it('POST /api/v2/reconcile: 200 for several at once, with a body or without', async () => {
    const replies = await Promise.all(
      [undefined, {}, { x: 1 }, undefined].map((body) => manager().post('/api/v2/reconcile', body)),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  });

  it('POST /api/v2/reconcile: 503 if the pass takes longer than a write would wait for it', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const ssh = await serveSsh(origin.url);
    await ssh.behave('exit 1\n');
    const settings = { GIT_TIMEOUT: '1' };
    const follower = await startFollower({ ...origin, url: ssh.url }, { path: ssh.path, settings });
    await ssh.behave(ENDLESS_MESSAGES);
    const reply = await follower.reconcile();
    expect(reply.status).toBe(503);
    expect(reply.body).toEqual({
      error: 'the repository is being read; try again later',
      request_id: expect.any(String),
    });
  });

  it('problems with file, line, column, code, message', async () => {
    await manager().repository.commit({ 'desired-state/apps/bad.yaml': 'container_image: a\nports: [80]\n' });
    const { body } = await manager().reconcile();
    expect(body.problems).toHaveLength(1);
    expect(body.problems[0]).toMatchObject({
      file: 'apps/bad.yaml',
      line: 2,
      column: 1,
      code: REASON,
      message: REASON,
    });
    await manager().repository.commit({ 'desired-state/apps/bad.yaml': null });
    expect((await manager().reconcile()).body.problems).toEqual([]);
  });

  it('a commit in the work tree is applied without a request', async () => {
    const revision = await manager().repository.commit({
      'desired-state/apps/cron.yaml': 'container_image: cron:9\n',
    });
    await expect
      .poll(async () => (await manager().get('/api/v2/reconcile')).body.revision_applied)
      .toBe(revision);
    expect((await manager().get('/api/v2/apps/cron')).body.container_image).toBe('cron:9');
  });

  it('ready means: one revision applied, or the store already has one', async () => {
    const empty = await startManager();
    const before = await empty.get('/readyz', { authorization: null });
    expect(before.status).toBe(503);
    expect(before.body).toBeTypeOf('object');
    expect((await empty.get('/healthz', { authorization: null })).body).toEqual({ status: 'ok' });
    await empty.post('/api/v2/apps/web', { container_image: 'a' });
    expect((await empty.get('/readyz', { authorization: null })).body).toEqual({ status: 'ok' });
    const next = await empty.restart();
    expect((await next.get('/readyz', { authorization: null })).body).toEqual({ status: 'ok' });
  });
});
