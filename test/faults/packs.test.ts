import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const ROUNDS = 150;
/** Packs after which they are joined, and a few that come while that is done. */
const BOUND = 75;

interface Kind {
  name: string;
  start(): Promise<{ manager: TestManager; packs: string; show(path: string): Promise<string> }>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'the mirror of a repository elsewhere',
    start: async () => {
      const origin = await testOrigin(SMALL_FLEET);
      const manager = await startFollower(origin);
      const packs = join(manager.dataFolder, 'mirror.git/objects/pack');
      return { manager, packs, show: (path) => origin.bare.show(path, 'main') };
    },
  },
  {
    name: 'a repository of this machine',
    start: async () => {
      const manager = await startManager({ files: SMALL_FLEET });
      const packs = join(manager.repository.folder, '.git/objects/pack');
      return { manager, packs, show: (path) => manager.repository.show(path) };
    },
  },
];

it.each(KINDS)('hundreds of writes leave few packs in $name, and it goes on working', async ({ start }) => {
  const { manager, packs, show } = await start();
  const count = async (): Promise<number> =>
    (await readdir(packs)).filter((name) => name.endsWith('.pack')).length;
  let most = 0;
  for (let round = 1; round <= ROUNDS; round++) {
    const reply = await manager.put('/api/v2/apps/web/update', { container_image: `web:${round}` });
    expect(reply.status, reply.text).toBe(202);
    expect(reply.body.container_image).toBe(`web:${round}`);
    most = Math.max(most, await count());
  }
  expect(most).toBeGreaterThan(10);
  expect(most).toBeLessThan(BOUND);
  expect(await show('desired-state/apps/web.yaml')).toContain(`web:${ROUNDS}`);
  const next = await manager.restart();
  expect((await next.put('/api/v2/apps/web/update', { container_image: 'web:after' })).status).toBe(202);
  expect((await next.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
});
