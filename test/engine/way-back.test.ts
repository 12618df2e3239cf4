import { describe, expect, it } from 'vitest';
import { containersOf, imageId } from '../support/engine/containers.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';

describe('a worker whose new version is bad', () => {
  const suite = engineSuite();

  it.each([
    { version: 'sick', code: 'unhealthy' },
    { version: 'crash', code: 'crashed' },
  ])(
    'goes back to the image that was good by its id if it is $code, and stays there until a higher id',
    async ({ version, code }) => {
      const { real, registry } = suite();
      const tag = registry.reference('latest');
      const app = { container_image: tag, env_vars: { TRY: '1' } };
      const fleet = await startFleet();
      await fleet.apply({ web: app });
      const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
      await worker.until(runs('web', tag));
      const good = (await containersOf(real))['web-1'];

      // The tag that the good version came from means the bad one from now on.
      registry.move('latest', version);
      await fleet.apply({ web: { ...app, env_vars: { TRY: '2' } } });
      const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'rolled_back');
      expect(apps[0]).toMatchObject({ wanted: 1, running: 1, error: { code } });
      const back = await containersOf(real);
      expect(back).toMatchObject({
        'web-1': { id: good?.id, image: good?.image, state: 'running' },
        'web-1.failed': { image: await imageId(real, tag), state: 'exited' },
      });

      // Neither what is done by hand nor a restart of the worker brings the bad version back, or pulls again.
      registry.requests.length = 0;
      await real.api('DELETE', `/containers/${good?.id}?force=true`);
      await expect
        .poll(() => containersOf(real))
        .toMatchObject({ 'web-1': { image: good?.image, state: 'running' } });
      await worker.kill();
      const second = await startWorker({
        socket: real.socket,
        manager: fleet.manager.address,
        data: worker.data,
      });
      await second.until(
        ({ apps: [web], manager }) => web?.state === 'rolled_back' && manager.last_good_poll !== null,
      );
      expect((await containersOf(real))['web-1.failed']).toEqual(back['web-1.failed']);
      expect(registry.requests).toEqual([]);

      registry.move('latest', 'v3');
      await fleet.apply({ web: { ...app, env_vars: { TRY: '3' } } });
      await second.until(runs('web', tag));
      const after = await containersOf(real);
      expect(Object.keys(after)).toEqual(['web-1']);
      expect(after['web-1']?.image).toBe(await imageId(real, tag));
    },
  );

  it('pulls it again and tries it when somebody at the device says so', async () => {
    const { real, registry } = suite();
    const tag = registry.reference('next');
    registry.move('next', 'sick');
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: registry.reference('v1') } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', registry.reference('v1')));
    await fleet.apply({ web: { container_image: tag } });
    await worker.until(({ apps: [web] }) => web?.state === 'rolled_back');

    registry.move('next', 'v2');
    expect(await worker.command('retry', 'web')).toBe(0);
    await worker.until(runs('web', tag));
    const after = await containersOf(real);
    expect(Object.keys(after)).toEqual(['web-1']);
    expect(after['web-1']?.image).toBe(await imageId(real, tag));
    expect(await worker.command('retry', 'nothing')).toBe(1);
  });

  it('goes on with it if nothing was there before, and says that it fails', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: registry.reference('crash') } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'failing');
    expect(apps[0]).toMatchObject({ error: { code: 'crashed' } });
    await fleet.apply({ web: { container_image: registry.reference('v1') } });
    await worker.until(runs('web', registry.reference('v1')));
    expect(Object.keys(await containersOf(real))).toEqual(['web-1']);
  });
});
