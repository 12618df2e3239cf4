import { describe, expect, it } from 'vitest';
import { isAsWanted } from '../../src/worker/status/status.ts';
import { startFleet, startWorker, type TestWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { containersOf, makeForeign, runningIds, watch } from '../support/engine/world.ts';
import { ask } from '../support/real-engine.ts';

describe('a worker that takes a device over from the worker of Nebula', () => {
  const suite = engineSuite();

  /** Makes a container as Nebula's worker does. */
  function nebula(app: string, slot: number, port?: number): Promise<string> {
    const bindings = port === undefined ? {} : { '80/tcp': [{ HostPort: String(port) }] };
    return makeForeign(suite(), `${app}-${slot}`, {
      Labels: { orchestrator: 'nebula', app_name: app, container_type: 'app' },
      ExposedPorts: Object.fromEntries(Object.keys(bindings).map((key) => [key, {}])),
      HostConfig: { PortBindings: bindings, RestartPolicy: { Name: 'unless-stopped' } },
    });
  }

  async function takeOver(tag: string, env: Record<string, string> = {}): Promise<TestWorker> {
    const fleet = await startFleet();
    const container_image = suite().registry.reference(tag);
    const web = { container_image, starting_ports: [{ '28080': '80' }], containers_per: { server: 2 } };
    await fleet.apply({ web });
    return startWorker({ socket: suite().real.socket, manager: fleet.manager.address, env });
  }

  it('replaces each container once, when the new one is created from a pulled image, and leaves others alone', async () => {
    const { real, registry } = suite();
    const old = [await nebula('web', 1, 28080), await nebula('web', 2, 28081)];
    const shop = await nebula('shop', 1);
    const history = await watch(real);
    const worker = await takeOver('v2');
    await worker.until((status) => isAsWanted(status) && status.applied !== null);
    await expect
      .poll(async () => [...(await containersOf(real)).keys()])
      .toEqual(['shop-1', 'web-1', 'web-2']);
    expect((await runningIds(real))['shop-1']).toBe(shop);
    expect([await ask(28080), await ask(28081)]).toEqual(['v2', 'v2']);
    expect(history.lines().map((line) => line.split(' ')[0])).toEqual([
      ...['create', 'create', 'die', 'die', 'start', 'start'],
      ...['destroy', 'destroy'],
    ]);
    expect(
      history.all
        .filter(({ action }) => action === 'destroy')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(old.sort());
    const times = (action: string): number[] =>
      history.all.filter((one) => one.action === action).map(({ time }) => time);
    const gap = Math.max(...times('start')) - Math.min(...times('die'));
    process.stdout.write(`The ports of a device that was taken over were closed for ${gap.toFixed(2)} s.\n`);
    expect(registry.requests.filter((line) => line.includes('/manifests/v2'))).not.toEqual([]);
  });

  it('leaves all running while the image cannot be pulled', async () => {
    const { real } = suite();
    await nebula('web', 1, 28080);
    const before = await runningIds(real);
    const worker = await takeOver('missing');
    await worker.until(({ apps }) => apps[0]?.error?.code === 'image-missing');
    expect(await runningIds(real)).toEqual(before);
    expect(await ask(28080)).toBe('v1');
  });

  it('brings the container of Nebula back if the new version is sick', async () => {
    const { real } = suite();
    const ids = [await nebula('web', 1, 28080), await nebula('web', 2, 28081)];
    const worker = await takeOver('sick');
    await worker.until(({ apps }) => apps[0]?.state === 'rolled_back');
    await expect.poll(() => runningIds(real)).toEqual({ 'web-1': ids[0], 'web-2': ids[1] });
  });

  it('removes the containers of apps that are not wanted with TAKE_OVER_NEBULA=all', async () => {
    const { real } = suite();
    await nebula('shop', 1);
    await makeForeign(suite(), 'foreign');
    const worker = await takeOver('v2', { TAKE_OVER_NEBULA: 'all' });
    await worker.until((status) => isAsWanted(status) && status.applied !== null);
    await expect
      .poll(async () => [...(await containersOf(real)).keys()])
      .toEqual(['foreign', 'web-1', 'web-2']);
  });
});
