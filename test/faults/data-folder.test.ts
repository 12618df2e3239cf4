import { describe, expect, it } from 'vitest';
import { testRepository } from '../support/git.ts';
import { spawnManager, startProcessManager } from '../support/process-manager.ts';
import { newFleet, WEB } from './small-fleet.ts';

describe('a data folder', () => {
  it('admits no second manager, which names the first one when it exits; the first one is not disturbed', async () => {
    const fleet = await newFleet();
    const manager = await startProcessManager(fleet);
    const other = await testRepository();
    const second = spawnManager({ repository: other, dataFolder: fleet.dataFolder });
    expect(await second.ended).toBe(3);
    const { pid } = manager.process.child;
    expect(second.output()).toContain(`in use by another manager (process ${pid}, since 20`);
    expect(second.output()).toContain(`, at ${manager.address})`);
    expect((await manager.request('POST', `${WEB}/stop`)).status).toBe(202);
    expect(await manager.stop()).toBe(0);
  });

  it('can be used again after its manager was killed', async () => {
    const fleet = await newFleet();
    await (await startProcessManager(fleet)).kill();
    const next = await startProcessManager(fleet);
    expect((await next.request('POST', `${WEB}/stop`)).status).toBe(202);
    await next.stop();
    const last = await startProcessManager(fleet);
    expect((await last.request('GET', WEB)).body.running).toBe(false);
    await last.stop();
  });
});
