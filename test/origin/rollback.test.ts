import { rename } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, type TestOrigin, testOrigin } from '../support/origin.ts';
import type { Reply } from '../support/reply.ts';

const WEB = '/api/v2/apps/web';
const WEB_FILE = 'desired-state/apps/web.yaml';
const INFO = '/api/v2/device_groups/edge/info';

/** A manager of an origin that has applied a second image of `web`, pushed as `second`. */
async function followed(settings: Record<string, string> = {}) {
  const origin = await testOrigin(SMALL_FLEET);
  const manager = await startFollower(origin, { settings });
  const first = await origin.bare.git('rev-parse', 'main');
  const second = await origin.push({ [WEB_FILE]: 'container_image: nginx:2\n' });
  await manager.reconcile();
  return { origin, manager, first, second };
}

const restoreTo = (manager: TestManager, to: string): Promise<Reply> =>
  manager.post('/api/v2/rollback', { to, objects: ['app/web'], reason: 'a reason' });
const tip = ({ bare }: TestOrigin): Promise<string> => bare.git('rev-parse', 'main');

describe('POST /rollback of a remote repository', () => {
  it('is 503 while origin is away and changes nothing, and works once it is back', async () => {
    const { origin, manager, first, second } = await followed();
    const before = (await manager.get(INFO)).text;
    await rename(origin.url, `${origin.url}.away`);
    expect((await restoreTo(manager, first)).status).toBe(503);
    expect((await manager.get(INFO)).text).toBe(before);
    await rename(`${origin.url}.away`, origin.url);
    expect(await tip(origin)).toBe(second);
    const { status, body } = await restoreTo(manager, first);
    expect({ status, revision: body.revision }).toEqual({ status: 202, revision: await tip(origin) });
    expect(await origin.bare.show(WEB_FILE, 'main')).toBe(SMALL_FLEET['apps/web.yaml']);
    expect(await origin.bare.git('rev-list', '--count', `${second}..main`)).toBe('1');
  });

  it('takes back the last commit of the branch, also if it was pushed since the last fetch', async () => {
    const { origin, manager } = await followed();
    const third = await origin.push({ [WEB_FILE]: 'container_image: nginx:3\n' });
    const { status } = await manager.post('/api/v2/rollback', { undo: 'main', reason: 'a reason' });
    expect(status).toBe(202);
    expect(await origin.bare.show(WEB_FILE, 'main')).toBe('container_image: nginx:2\n');
    expect(await origin.bare.git('log', '-1', '--format=%(trailers:key=Undoes,valueonly)', 'main')).toContain(
      third,
    );
  });

  it('restores to a commit that was pushed after the last fetch', async () => {
    const { origin, manager } = await followed();
    const third = await origin.push({ [WEB_FILE]: 'container_image: nginx:3\n' });
    await origin.push({ [WEB_FILE]: 'container_image: nginx:4\n' });
    expect((await restoreTo(manager, third)).status).toBe(202);
    expect(await origin.bare.show(WEB_FILE, 'main')).toBe('container_image: nginx:3\n');
  });

  it('restores to a tag that only origin has, which reads find, too', async () => {
    const { origin, manager, first, second } = await followed();
    await origin.bare.git('tag', 'v1', first);
    const before = await manager.get(`/api/v2/diff?from=v1&to=${second}`);
    expect([before.body.from, before.body.steps_total]).toEqual([first, 1]);
    expect((await manager.get('/api/v2/history/v1')).body.revision).toBe(first);
    expect((await manager.get('/api/v2/history?revision=v1')).body.total).toBe(1);
    expect((await manager.get('/api/v2/blame/app/web?revision=v1')).body.revision).toBe(first);
    expect((await restoreTo(manager, 'v1')).status).toBe(202);
    expect(await origin.bare.git('log', '-1', '--format=%(trailers:key=Restores,valueonly)', 'main')).toBe(
      `${first}\n`,
    );
    expect((await restoreTo(manager, 'v2')).body).toEqual({ revision_exists: false });
  });

  it('sticks over polls that bring other commits', async () => {
    const { origin, manager, first } = await followed({ GIT_POLL_INTERVAL: '1' });
    const { body } = await restoreTo(manager, first);
    for (const image of ['cron:4', 'cron:5']) {
      await origin.push({ 'desired-state/apps/cron.yaml': `container_image: ${image}\n` });
      await expect
        .poll(async () => (await manager.get('/api/v2/apps/cron')).body.container_image)
        .toBe(image);
      const { container_image, app_id } = (await manager.get(WEB)).body;
      expect({ container_image, app_id }).toEqual({
        container_image: 'nginx:1.26',
        app_id: body.ids['app/web'],
      });
    }
  });
});
