import { cp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';
import { runProgramFrom, setUpFleet, stop } from './program.ts';

describe('a manager whose program is deleted while it runs, as by an upgrade', () => {
  it('still answers every kind of request', async () => {
    const installed = await temporaryFolder();
    await cp(join(PROJECT, 'dist'), join(installed, 'dist'), { recursive: true });
    await cp(join(PROJECT, 'package.json'), join(installed, 'package.json'));
    await symlink(join(PROJECT, 'node_modules'), join(installed, 'node_modules'));
    const { env } = await setUpFleet();
    const settings = { ...env, AUTH_ENABLED: 'false', LOG_LEVEL: 'debug' };
    const manager = runProgramFrom(join(installed, 'dist/main.js'), ['serve'], settings);
    const [, address] = await manager.waitFor(/"address":"([^"]+)"/);
    await manager.waitFor(/everything is loaded/);
    await rm(installed, { recursive: true });

    const metrics = await fetch(`${address}/metrics`);
    expect([metrics.status, await metrics.text()]).toEqual([
      200,
      expect.stringContaining('holdfast_passes_total'),
    ]);
    for (const path of ['/openapi.json', '/api/v2/reconcile', '/api/v2/device_groups/edge/info'])
      expect((await fetch(address + path)).status).toBe(200);
    expect(await stop(manager)).toBe(0);
  });
});
