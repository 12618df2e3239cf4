import { describe, expect, it } from 'vitest';
import { containersOf } from '../support/engine/containers.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';

const MEGABYTE = 1024 * 1024;

describe('a worker whose engine has a full disk', () => {
  const suite = engineSuite({ size: '200m' });

  it.each([
    { state: 'has no byte left', leave: 0 },
    { state: 'has room for an image, but none to swap', leave: 50 * MEGABYTE },
  ])('stops nothing that runs if it $state, and updates once there is room again', async ({ leave }) => {
    const { real, registry } = suite();
    const [old, next] = [registry.reference('v1'), registry.reference('v2')];
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: old } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', old));
    const before = await containersOf(real);

    real.fillDisk(leave);
    await fleet.apply({ web: { container_image: next } });
    const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'kept');
    expect(apps[0]).toMatchObject({ image: old, running: 1, error: { code: 'disk-pressure' } });
    expect(await containersOf(real)).toEqual(before);

    real.freeDisk();
    await worker.until(runs('web', next));
    expect(Object.keys(await containersOf(real))).toEqual(['web-1']);
  });

  it('stops nothing that runs if it fills up while an image is pulled', async () => {
    const { real, registry } = suite();
    const old = registry.reference('v1');
    registry.push('big', { version: 'big', ballast: 2 * MEGABYTE });
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: old } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', old));
    const before = await containersOf(real);

    registry.trouble('blob-steady');
    await fleet.apply({ web: { container_image: registry.reference('big') } });
    await expect
      .poll(() => registry.requests.some((line) => line.startsWith('GET /v2/web/blobs/')))
      .toBe(true);
    await worker.until(({ apps: [web] }) => web?.state === 'pulling');
    real.fillDisk();
    registry.trouble(null);
    const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'kept');
    expect(apps[0]).toMatchObject({ image: old, running: 1, error: { code: 'disk-pressure' } });
    expect(await containersOf(real)).toEqual(before);
  });
});
