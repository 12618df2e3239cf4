import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { serve, setUpFleet, stop } from './program.ts';

const INFO = '/api/v2/device_groups/edge/info';

describe('a manager whose data folder is deleted while it runs', () => {
  it('is not ready, acknowledges no write, reports why and keeps serving devices; the next start works', async () => {
    const setup = await setUpFleet();
    const settings = { AUTH_ENABLED: 'false', CACHE_TIME: '0' };
    const manager = await serve(setup, settings);
    const ask = async (path: string, method = 'GET') => {
      const reply = await fetch(manager.address + path, { method });
      return { status: reply.status, text: await reply.text() };
    };
    const before = await ask(INFO);
    await rm(setup.dataFolder, { recursive: true });

    expect((await ask('/readyz')).status).toBe(503);
    expect(await ask('/api/v2/apps/web/restart', 'POST')).toEqual({
      status: 503,
      text: expect.stringContaining(
        "the store's files were deleted or replaced while the manager was running",
      ),
    });
    expect(await ask('/api/v2/apps/web/stop', 'POST')).toMatchObject({ status: 503 });
    expect(await ask(INFO)).toEqual(before);
    const status = JSON.parse((await ask('/api/v2/reconcile', 'POST')).text);
    expect(status).toMatchObject({
      state: 'failing',
      error: { message: expect.stringContaining('restart') },
    });

    expect(await stop(manager)).toBe(0);
    const next = await serve(setup, settings);
    expect((await fetch(`${next.address}/readyz`)).status).toBe(200);
    expect(await stop(next)).toBe(0);
  });

  it('still records the ids that it gave just before: a manager on an old copy of the folder continues above them', async () => {
    const setup = await setUpFleet();
    const settings = { AUTH_ENABLED: 'false' };
    const idOn = async (address: string): Promise<number> => {
      const reply = await fetch(`${address}/api/v2/apps/web`);
      return ((await reply.json()) as { app_id: number }).app_id;
    };
    expect(await stop(await serve(setup, settings))).toBe(0);
    const copy = join(await temporaryFolder(), 'copy');
    await cp(setup.dataFolder, copy, { recursive: true });

    const manager = await serve(setup, settings);
    const before = await idOn(manager.address);
    const restarted = await fetch(`${manager.address}/api/v2/apps/web/restart`, { method: 'POST' });
    await rm(setup.dataFolder, { recursive: true });
    expect(restarted.status).toBe(202);
    expect(await stop(manager)).toBe(0);

    await cp(copy, setup.dataFolder, { recursive: true });
    const next = await serve(setup, settings);
    expect(await idOn(next.address)).toBeGreaterThan(before);
    expect(await stop(next)).toBe(0);
  });
});
