import { describe, expect, it } from 'vitest';
import { inDesiredState } from '../support/folder.ts';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';
import type { Reply } from '../support/reply.ts';

type Ask = (manager: TestManager, name: string) => Promise<Reply>;

const ROUTES: [string, Ask][] = [
  ['GET /history?revision=', (manager, name) => manager.get(`/api/v2/history?revision=${name}`)],
  ['GET /history/{revision}', (manager, name) => manager.get(`/api/v2/history/${name}`)],
  ['GET /diff', (manager, name) => manager.get(`/api/v2/diff?from=${name}&to=main`)],
  ['GET /blame', (manager, name) => manager.get(`/api/v2/blame/app/web?revision=${name}`)],
  [
    'POST /rollback to it',
    (manager, name) =>
      manager.post('/api/v2/rollback?dry_run=true', {
        to: decodeURIComponent(name),
        objects: ['app/web'],
        reason: 'x',
      }),
  ],
  [
    'POST /rollback of it',
    (manager, name) =>
      manager.post('/api/v2/rollback?dry_run=true', { undo: decodeURIComponent(name), reason: 'x' }),
  ],
];

describe('A branch or tag that only the origin has', () => {
  it.each(ROUTES)('is a revision for %s, and an unknown one is 404', async (_, ask) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.push(inDesiredState({ 'apps/web.yaml': 'container_image: nginx:2\n' }));
    await origin.user.git('tag', '--annotate', '--message', 'two', '@fleet/v2');
    await origin.user.git('push', '--quiet', 'origin', '@fleet/v2', 'HEAD:refs/heads/topic/1');
    await manager.reconcile();
    for (const name of ['topic/1', '@fleet/v2'].map(encodeURIComponent)) {
      const { status, body } = await ask(manager, name);
      expect([name, status, body]).toEqual([name, 200, expect.anything()]);
    }
    const unknown = await ask(manager, 'nope');
    expect([unknown.status, unknown.body]).toEqual([404, { revision_exists: false }]);
  });

  it('can be the Holdfast-Base of a write', async () => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await origin.user.git('push', '--quiet', 'origin', 'HEAD:refs/tags/v1');
    const write = (): Promise<Reply> =>
      manager.put('/api/v2/apps/web/update', { running: false }, { headers: { 'Holdfast-Base': 'v1' } });
    expect([(await write()).status, (await write()).status]).toEqual([202, 412]);
  });
});
