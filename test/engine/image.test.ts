import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { DEVICE, startFleet } from '../support/engine/fleet.ts';
import { dockerShell, importNodeImage } from '../support/engine/node-image.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { cloneProject, PROJECT } from '../support/project.ts';
import { ask } from '../support/real-engine.ts';

/** Returns the command of docs/devices.md that starts a worker in a container. */
async function runCommand(): Promise<string> {
  const text = await readFile(join(PROJECT, 'docs/devices.md'), 'utf8');
  const blocks = [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block);
  return blocks.find((block) => block.includes('docker run')) ?? '';
}

describe('the image of examples/worker.Dockerfile', () => {
  const suite = engineSuite();

  it('builds from a clean clone without a network, and as docs/devices.md runs it a worker without root starts apps', async () => {
    const { real, registry } = suite();
    const shell = await dockerShell(real.socket);
    await importNodeImage(shell, 'node-base');
    const { folder } = await cloneProject();
    const build = 'docker build --file examples/worker.Dockerfile --tag holdfast-worker';
    await shell(`${build} --network none --build-arg BASE=node-base .`, folder);

    const fleet = await startFleet();
    await fleet.apply({
      web: { container_image: registry.reference('v1'), starting_ports: [{ '28080': '80' }] },
    });
    await shell(`echo '${DEVICE.password}' > device-password`);
    const command = (await runCommand())
      .replace('docker run ', 'docker run --network host --env ORCHESTRATOR_MANAGER_CHECK_IN_TIME=1 ')
      .replaceAll('/var/run/docker.sock:', `${real.socket}:`)
      .replace('stat -c %g /var/run/docker.sock', `stat -c %g ${real.socket}`)
      .replaceAll('/etc/holdfast-worker', '$HOME')
      .replace('https://fleet.example', fleet.manager.address)
      .replace('DEVICE_AUTH_USER=devices', `DEVICE_AUTH_USER=${DEVICE.user}`)
      .replace('DEVICE_GROUP=stores', 'DEVICE_GROUP=lab');
    await shell(
      `chgrp 4242 ${real.socket} && chmod 660 ${real.socket} && chmod 711 . && chmod 644 device-password`,
    );
    await shell(command);

    const inside = (args: string): Promise<string> =>
      shell(`docker exec holdfast-worker holdfast worker ${args}`).catch((error) => String(error.stdout));
    await expect.poll(() => ask(28080)).toBe('v1');
    await expect.poll(() => inside('status')).toMatch(/^State +everything as wanted$/m);
    expect(await inside('--help')).toContain('holdfast worker status');
    expect(await inside('--dry-run')).toContain('This device has nothing to do.');
    const [container] = JSON.parse(await shell('docker inspect holdfast-worker'));
    expect(container.Config.User).toBe('1000:1000');
    expect(container.HostConfig).toMatchObject({
      ReadonlyRootfs: true,
      CapDrop: ['ALL'],
      GroupAdd: ['4242'],
    });
    const capabilities = await shell('docker exec holdfast-worker busybox grep CapEff /proc/1/status');
    expect(capabilities).toMatch(/^CapEff:\t0+\n$/);
  });
});
