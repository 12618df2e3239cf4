import { describe, expect, it } from 'vitest';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { ask } from '../support/real-engine.ts';

describe('a worker on a real engine', () => {
  const suite = engineSuite();

  it('runs what git says, and replaces it when git says something else', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    const app = { container_image: registry.reference('v1'), starting_ports: [{ '28080': '80' }] };
    await fleet.apply({ web: app });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', registry.reference('v1')));
    expect(await ask(28080)).toBe('v1');
    await fleet.apply({ web: { ...app, container_image: registry.reference('v2') } });
    await worker.until(runs('web', registry.reference('v2')));
    expect(await ask(28080)).toBe('v2');
    expect(await worker.stop()).toBe(0);
    expect(await ask(28080)).toBe('v2');
  });

  it('goes back to the version before if the new one is sick', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    const app = { container_image: registry.reference('v1'), starting_ports: [{ '28080': '80' }] };
    await fleet.apply({ web: app });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', registry.reference('v1')));
    await fleet.apply({ web: { ...app, container_image: registry.reference('sick') } });
    const { apps } = await worker.until(({ apps: [web] }) => web?.state === 'rolled_back');
    expect(apps[0]).toMatchObject({
      image: registry.reference('v1'),
      error: { code: 'unhealthy', next_try: null },
    });
    expect(await ask(28080)).toBe('v1');
  });
});
