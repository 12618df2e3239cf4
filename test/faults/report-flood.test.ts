import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryAt } from '../support/git.ts';
import { expectIntact } from '../support/intact.ts';
import { requester } from '../support/manager.ts';
import { type ProcessManager, startProcessManager } from '../support/process-manager.ts';
import { canMount, mountDisk } from './full-disk.ts';
import { changeWeb, FLEET, WEB } from './small-fleet.ts';

const REPORTS = '/api/v2/reports';
const DEVICES = { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'a stolen one, 16+' };
const AUTHORIZATION = `Basic ${Buffer.from(`devices:${DEVICES.DEVICE_AUTH_PASSWORD}`).toString('base64')}`;

/** As many bytes as a body may have, in reports that take as much as possible of the indexes, too. */
const LIST = Array.from({ length: 15 }, () => ({
  hostname: 'h'.repeat(30_000),
  device_group: 'g'.repeat(30_000),
  report_creation_time: 1,
}));

/** Sends lists of reports as the device account, many at a time; resolves to the statuses. */
async function flood(manager: ProcessManager, count: number): Promise<number[]> {
  const request = requester(manager.address);
  const send = () => request('POST', REPORTS, { body: LIST, authorization: AUTHORIZATION });
  const statuses: number[] = [];
  while (statuses.length < count)
    statuses.push(...(await Promise.all(Array.from({ length: 20 }, send))).map(({ status }) => status));
  return statuses;
}

describe.skipIf(!canMount())('a device account that floods the disk with reports', () => {
  it('is refused with 503 while configuration still has room, and reports are kept again once there is space', async () => {
    const disk = await mountDisk(64);
    const repository = repositoryAt(join(disk, 'repository'));
    await mkdir(repository.folder);
    await repository.git('init', '--quiet', '--initial-branch=main');
    await repository.commit(FLEET);
    const fleet = { repository, dataFolder: join(disk, 'data') };
    const manager = await startProcessManager({ ...fleet, env: DEVICES });
    const statuses = await flood(manager, 200);
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect(statuses.slice(-20), 'the end of the flood').toEqual(Array(20).fill(503));

    for (let count = 0; count < 20; count++) {
      expect((await changeWeb(manager, `flooded:${count}`)).status).toBe(202);
      expect((await manager.request('POST', `${WEB}/restart`)).status).toBe(202);
    }
    expect((await manager.request('GET', WEB)).body.container_image).toBe('flooded:19');
    expect((await manager.request('GET', '/api/v2/device_groups/edge/info')).text).toContain('flooded:19');
    expect((await manager.request('GET', `${REPORTS}?page_size=1`)).body.data).toHaveLength(1);
    expect(await manager.stop()).toBe(0);

    const next = await startProcessManager({ ...fleet, env: { ...DEVICES, REPORT_TTL: '1' } });
    await expect.poll(async () => (await flood(next, 1)).at(-1)).toBe(200);
    const after = await changeWeb(next, 'after:1');
    expect(after.status, after.text).toBe(202);
    await expectIntact(repository.folder);
    expect(await next.stop()).toBe(0);
  });
});
