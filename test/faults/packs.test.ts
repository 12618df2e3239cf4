import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { SMALL_FLEET, startManager, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const ROUNDS = 150;
/** The number of packs above which they are joined in the background. How many more come meanwhile depends on the machine. */
const MANY_PACKS = 50;
const SLOW_POLL = { timeout: 60_000, interval: 200 };

/** A kind of repository; `packs` is its folder of packs, and `show` reads a file that was published. */
interface Kind {
  name: string;
  start(): Promise<{ manager: TestManager; packs: string; show(path: string): Promise<string> }>;
}

const KINDS: readonly Kind[] = [
  {
    name: 'the mirror of an origin',
    start: async () => {
      const origin = await testOrigin(SMALL_FLEET);
      const manager = await startFollower(origin);
      const packs = join(manager.dataFolder, 'mirror.git/objects/pack');
      return { manager, packs, show: (path) => origin.bare.show(path, 'main') };
    },
  },
  {
    name: 'a clone',
    start: async () => {
      const manager = await startManager({ files: SMALL_FLEET });
      const packs = join(manager.repository.folder, '.git/objects/pack');
      return { manager, packs, show: (path) => manager.repository.show(path) };
    },
  },
];

it.each(KINDS.map(({ name, start }) => [name, start] as const))(
  '%s has few packs after 150 writes, and can still be read and written',
  async (_, start) => {
    const { manager, packs, show } = await start();
    const count = async (): Promise<number> =>
      (await readdir(packs)).filter((name) => name.endsWith('.pack')).length;
    let writes = 0;
    const write = async (): Promise<number> => {
      const container_image = `web:${++writes}`;
      const reply = await manager.put('/api/v2/apps/web/update', { container_image });
      expect(reply.status, reply.text).toBe(202);
      expect(reply.body.container_image).toBe(container_image);
      return count();
    };
    let most = 0;
    while (writes < ROUNDS) most = Math.max(most, await write());
    expect(most).toBeLessThan(2 * MANY_PACKS);
    await expect.poll(write, SLOW_POLL).toBeLessThan(MANY_PACKS);
    expect(await show('desired-state/apps/web.yaml')).toContain(`web:${writes}`);
    const next = await manager.restart();
    expect((await next.put('/api/v2/apps/web/update', { container_image: 'web:after' })).status).toBe(202);
    expect((await next.get('/api/v2/reconcile')).body).toMatchObject({ state: 'applied', error: null });
  },
);
