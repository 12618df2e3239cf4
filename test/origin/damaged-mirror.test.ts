import { appendFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SMALL_FLEET, type TestManager } from '../support/manager.ts';
import { startFollower, testOrigin } from '../support/origin.ts';

const WEB = '/api/v2/apps/web';
const INFO = '/api/v2/device_groups/edge/info';

describe('a mirror', () => {
  const mirrorOf = (manager: TestManager): string => join(manager.dataFolder, 'mirror.git');

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ['that was deleted', (folder) => rm(folder, { recursive: true })],
    ['without HEAD', (folder) => rm(join(folder, 'HEAD'))],
    ['without its objects', (folder) => rm(join(folder, 'objects'), { recursive: true })],
    ['without its packs', (folder) => rm(join(folder, 'objects/pack'), { recursive: true })],
    ['with a damaged pack', (folder) => damagePacks(folder)],
    ['with a config that git cannot read', (folder) => appendFile(join(folder, 'config'), '\n[[[')],
  ])('%s is made again from origin while the manager runs', async (_name, damage) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    const before = (await manager.get(INFO)).text;
    await damage(mirrorOf(manager));
    const id = await origin.push({ 'desired-state/apps/cron.yaml': 'container_image: cron:4\n' });
    await expect
      .poll(async () => (await manager.reconcile()).body, { timeout: 60_000, interval: 200 })
      .toMatchObject({ state: 'applied', revision_applied: id, error: null });
    expect((await manager.get(INFO)).text).not.toBe(before);
    expect((await manager.put(`${WEB}/update`, { container_image: 'again:1' })).status).toBe(202);
    expect(await readdir(manager.dataFolder)).not.toContain('mirror.git.new');
  });

  it.each<[string, (folder: string) => Promise<unknown>]>([
    ['that was deleted', (folder) => rm(folder, { recursive: true })],
    ['without its objects', (folder) => rm(join(folder, 'objects'), { recursive: true })],
    ['with a damaged pack', (folder) => damagePacks(folder)],
    ['with stale locks', (folder) => leaveLocks(folder)],
  ])('%s is repaired or made again at the next start, and /info stays the same', async (_name, damage) => {
    const origin = await testOrigin(SMALL_FLEET);
    const manager = await startFollower(origin);
    await manager.put(`${WEB}/update`, { container_image: 'kept:1' });
    const before = (await manager.get(INFO)).text;
    await manager.stop();
    await damage(mirrorOf(manager));
    const next = await manager.restart();
    await expect
      .poll(async () => (await next.get('/api/v2/reconcile')).body.state, { timeout: 60_000 })
      .toBe('applied');
    expect((await next.get(INFO)).text).toBe(before);
    expect((await next.put(`${WEB}/update`, { container_image: 'again:1' })).status).toBe(202);
  });
});

async function damagePacks(folder: string): Promise<void> {
  const packs = join(folder, 'objects/pack');
  for (const name of await readdir(packs)) {
    if (!name.endsWith('.pack')) continue;
    await rm(join(packs, name));
    await writeFile(join(packs, name), 'PACK damaged');
  }
}

async function leaveLocks(folder: string): Promise<void> {
  for (const name of ['HEAD.lock', 'packed-refs.lock', 'config.lock', 'refs/remotes/origin/main.lock'])
    await writeFile(join(folder, name), '');
}
