import { describe, expect, it } from 'vitest';
import { containersOf } from '../support/engine/containers.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import type { RealEngine } from '../support/real-engine.ts';

describe('a worker whose manager is away', () => {
  const suite = engineSuite();

  it('restarts nothing while it is away and when it is back, and heals meanwhile', async () => {
    const { real, registry } = suite();
    const image = registry.reference('v1');
    const fleet = await startFleet('18080');
    await fleet.apply({ web: { container_image: image }, db: { container_image: image } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until((status) => runs('web', image)(status) && runs('db', image)(status));
    const before = await containersOf(real);

    await fleet.manager.kill();
    await worker.until(({ problems }) => problems.some(({ code }) => code === 'manager-unavailable'));
    await real.api('DELETE', `/containers/${before['web-1']?.id}?force=true`);
    await expect.poll(() => containersOf(real)).toMatchObject({ 'web-1': { state: 'running' } });
    await worker.until(runs('web', image));
    const away = await containersOf(real);
    expect(Object.keys(away)).toEqual(['db-1', 'web-1']);
    expect(away['db-1']).toEqual(before['db-1']);

    await fleet.restart();
    await worker.until(({ problems }) => problems.length === 0);
    expect(await containersOf(real)).toEqual(away);
  });

  it('starts its apps without it after it was restarted itself, and restarts none that runs', async () => {
    const { real, registry } = suite();
    const image = registry.reference('v1');
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: image }, db: { container_image: image } });
    const first = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await first.until((status) => runs('web', image)(status) && runs('db', image)(status));
    const before = await containersOf(real);
    await fleet.manager.kill();
    await first.kill();
    await real.api('DELETE', `/containers/${before['web-1']?.id}?force=true`);

    const second = await startWorker({
      socket: real.socket,
      manager: fleet.manager.address,
      data: first.data,
    });
    await second.until((status) => runs('web', image)(status) && runs('db', image)(status));
    const after = await containersOf(real);
    expect(Object.keys(after)).toEqual(['db-1', 'web-1']);
    expect(after['db-1']).toEqual(before['db-1']);
  });
});

describe('a worker whose containers somebody works on by hand', () => {
  const suite = engineSuite();

  it.each([
    { deed: 'removed', isSame: false, act: ['DELETE', '?force=true'], left: {} },
    { deed: 'stopped', isSame: true, act: ['POST', '/stop?t=1'], left: {} },
    { deed: 'killed', isSame: true, act: ['POST', '/kill'], left: {} },
    { deed: 'paused', isSame: true, act: ['POST', '/pause'], left: {} },
    { deed: 'renamed', isSame: false, act: ['POST', '/rename?name=mine'], left: { mine: 'running' } },
  ] as const)(
    'has a container back that was $deed, without a pull, and touches no other',
    async ({ act: [method, rest], isSame, left }) => {
      const { real, registry } = suite();
      const image = registry.reference('v1');
      const fleet = await startFleet();
      await fleet.apply({ web: { container_image: image, containers_per: { server: 2 } } });
      const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
      await worker.until(runs('web', image));
      const before = await containersOf(real);
      registry.requests.length = 0;

      await real.api(method, `/containers/${before['web-1']?.id}${rest}`);
      await expect
        .poll(async () => {
          const there = Object.entries(await containersOf(real));
          return Object.fromEntries(there.map(([name, { state }]) => [name, state]));
        })
        .toEqual({ 'web-1': 'running', 'web-2': 'running', ...left });
      await worker.until(runs('web', image));
      const after = await containersOf(real);
      expect(after['web-1']?.id === before['web-1']?.id).toBe(isSame);
      expect(after['web-2']).toEqual(before['web-2']);
      expect(registry.requests).toEqual([]);
    },
  );

  it('has a container back whose networks were removed while it was stopped, and made again', async () => {
    const { real, registry } = suite();
    const image = registry.reference('v1');
    const makeFront = () => real.api('POST', '/networks/create', { Name: 'front', Driver: 'bridge' });
    await makeFront();
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: image, networks: ['nebula', 'front'] } });
    const first = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await first.until(runs('web', image));
    const before = await containersOf(real);
    const networks = await networkIds(real);
    await first.kill();
    await real.api('POST', '/containers/web-1/stop?t=1');
    await real.api('POST', '/networks/prune');
    await makeFront();

    const { data } = first;
    const second = await startWorker({ socket: real.socket, manager: fleet.manager.address, data });
    await second.until(runs('web', image));
    expect(await containersOf(real)).toMatchObject({
      'web-1': { id: before['web-1']?.id, state: 'running' },
    });
    const after = await networkIds(real);
    expect(Object.keys(after)).toEqual(['front', 'nebula']);
    for (const [name, id] of Object.entries(after)) {
      expect(id).not.toBe(networks[name]);
      expect((await real.api('GET', `/networks/${name}`)).body).toMatchObject({ Id: id });
      expect((await real.api('GET', '/containers/web-1/json')).body).toMatchObject({
        NetworkSettings: { Networks: { [name]: { Aliases: expect.arrayContaining(['web']) } } },
      });
    }
  });

  it('removes the containers of an app that is stopped', async () => {
    const { real, registry } = suite();
    const image = registry.reference('v1');
    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: image } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', image));
    await fleet.apply({ web: { container_image: image, running: false } });
    await worker.until(({ apps: [web] }) => web?.state === 'stopped');
    expect(await containersOf(real)).toEqual({});
  });
});

/** Resolves to the ids of the networks that web-1 has joined, by name. */
async function networkIds(real: RealEngine): Promise<Record<string, string>> {
  const { body } = await real.api('GET', '/containers/web-1/json');
  const { Networks } = (body as { NetworkSettings: { Networks: Record<string, { NetworkID: string }> } })
    .NetworkSettings;
  const entries = Object.entries(Networks).map(([name, { NetworkID }]) => [name, NetworkID]);
  return Object.fromEntries(entries.toSorted());
}
