import { describe, expect, it } from 'vitest';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';

describe('what a device is asked, on a real engine', () => {
  const suite = engineSuite();

  it('logs are the lines that the containers wrote, with their times', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    const command = ['sh', '-c', 'echo one; echo two; exec sleep 600'];
    await fleet.apply({
      web: { container_image: registry.reference('v1'), command, healthcheck: { test: ['NONE'] } },
    });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', registry.reference('v1')));
    const asked = await fleet.manager.request('POST', '/api/v2/devices/device-1/asks', {
      kind: 'logs',
      app: 'web',
      lines: 10,
    });
    const { id } = asked.body as { id: string };
    const path = `/api/v2/devices/device-1/asks/${id}`;
    await expect
      .poll(async () => ((await fleet.manager.request('GET', path)).body as { state: string }).state, {
        timeout: 30_000,
      })
      .toBe('done');
    const { text } = (await fleet.manager.request('GET', path)).body as { text: string };
    expect(text.split('\n').map((line) => line.replace(/^\d{4}-\d\d-\d\dT[\d:.]+Z /, ''))).toEqual([
      'one',
      'two',
      '',
    ]);
  });
});
