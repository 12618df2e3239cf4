import { join } from 'node:path';
import { expect, it } from 'vitest';
import { PASSWORD, startManager, USER } from '../support/manager.ts';
import { PROJECT, startProcess } from '../support/project.ts';

const FILES = {
  'apps/web.yaml': 'container_image: web:1\n',
  'apps/sale.yaml': 'container_image: sale:1\nrunning: false\n',
  'device-groups/edge.yaml': 'apps: [web, sale]\n',
};

it('examples/worker.mjs prints what a device would do after each change', async () => {
  const manager = await startManager({ files: FILES });
  const env = { HOLDFAST: manager.service.address, CREDENTIALS: `${USER}:${PASSWORD}`, DEVICE: 'till-7' };
  const command = [join(PROJECT, 'examples/worker.mjs'), 'edge', '0.05'];
  const worker = startProcess(process.execPath, command, { cwd: PROJECT, env });
  await worker.waitFor(/^web: pull web:1 and start \(id \d+\)\nsale: stop \(id \d+\)\n$/);

  const steps: [() => Promise<unknown>, RegExp][] = [
    [
      () => manager.put('/api/v2/apps/web/update', { container_image: 'web:2' }),
      /web: pull web:2 and restart/,
    ],
    [() => manager.post('/api/v2/apps/sale/start'), /sale: pull sale:1 and restart/],
    [() => manager.post('/api/v2/prune'), /remove unused images/],
    [() => manager.put('/api/v2/device_groups/edge/update', { apps: ['web'] }), /sale: stop, since/],
    [
      () => manager.put('/api/v2/device_groups/edge/update', { apps: ['sale'] }),
      /sale: pull sale:1 and start /,
    ],
    [() => manager.delete('/api/v2/device_groups/edge'), /sale: stop, since.*\nnothing new: 403 .*false/],
  ];
  for (const [act, expected] of steps) {
    await act();
    await worker.waitFor(expected);
  }
  expect(worker.output().match(/^web: /gm)).toHaveLength(3);
  expect((await manager.get('/metrics')).text).toContain('polling_devices{device_group="edge"} 1\n');
  await manager.stop();
  await worker.waitFor(/nothing new: .*ECONNREFUSED/);
});
