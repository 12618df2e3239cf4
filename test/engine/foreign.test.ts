import { describe, expect, it } from 'vitest';
import { containersOf, imageId } from '../support/engine/containers.ts';
import { runs, startFleet, startWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import type { RealEngine } from '../support/real-engine.ts';

describe('a worker on a machine with containers and images of others', () => {
  const suite = engineSuite();

  it('never touches them, also one whose name an app needs, and runs the other apps', async () => {
    const { real, registry, engine } = suite();
    const image = registry.reference('v1');
    await engine.pull(image, new AbortController().signal);
    await runForeign(real, 'web-1', image, {});
    await runForeign(real, 'db-7', image, { 'holdfast.worker': 'other', 'holdfast.app': 'db' });
    await runForeign(real, 'old-1', image, { orchestrator: 'nebula', app_name: 'old' });
    await real.api('POST', `/containers/create?name=idle`, { Image: image });
    const foreign = await containersOf(real);

    const fleet = await startFleet();
    await fleet.apply({ web: { container_image: image }, db: { container_image: image } });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    const status = await worker.until(
      (status) => runs('db', image)(status) && status.apps.some(({ error }) => error?.code === 'name-taken'),
    );
    expect(status.apps).toMatchObject([
      { name: 'web', state: 'failing', running: 0, error: { text: expect.stringContaining('web-1') } },
      { name: 'db', state: 'running', running: 1, error: null },
    ]);
    await fleet.apply({});
    await worker.until(({ apps, containers }) => apps.length === 0 && containers.length === 0);
    expect(await containersOf(real)).toEqual(foreign);

    await fleet.apply({ web: { container_image: image } });
    await worker.until(({ apps: [web] }) => web?.error?.code === 'name-taken');
    await real.api('POST', '/containers/web-1/rename?name=theirs');
    await worker.until(runs('web', image));
    expect(await containersOf(real)).toMatchObject({
      theirs: { id: foreign['web-1']?.id, state: 'running' },
    });
  });

  it('prunes the images that it pulled and nothing uses, and nothing else', async () => {
    const { real, registry, engine } = suite();
    const signal = new AbortController().signal;
    await engine.pull(registry.reference('plain'), signal);
    await real.api('POST', '/volumes/create', { Name: 'theirs' });
    const [v1, v2, v3] = ['v1', 'v2', 'v3'].map((tag) => registry.reference(tag));
    const fleet = await startFleet();
    const stopped = { container_image: v3, running: true };
    await fleet.apply({ web: { container_image: v1 }, idle: stopped });
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until((status) => runs('web', `${v1}`)(status) && runs('idle', `${v3}`)(status));
    await fleet.apply({ web: { container_image: v2 }, idle: { ...stopped, running: false } });
    await worker.until(
      (status) => runs('web', `${v2}`)(status) && status.apps.some(({ state }) => state === 'stopped'),
    );
    expect(await imageId(real, `${v1}`)).not.toBeNull();
    const web = (await containersOf(real))['web-1'];
    await real.api('POST', '/containers/create?name=theirs', { Image: registry.reference('plain') });

    const { status } = await fleet.manager.request('POST', '/api/v2/prune');
    expect(status).toBe(202);
    await expect.poll(() => imageId(real, `${v1}`)).toBeNull();
    expect(await imageId(real, `${v2}`)).toBe(web?.image);
    expect(await imageId(real, `${v3}`)).not.toBeNull();
    expect(await imageId(real, registry.reference('plain'))).not.toBeNull();
    expect(await containersOf(real)).toMatchObject({ theirs: { state: 'created' }, 'web-1': web });
    expect((await real.api('GET', '/volumes/theirs')).status).toBe(200);
    await worker.until(({ applied, ids }) => applied !== null && ids.prune_id !== 1);
  });
});

async function runForeign(
  real: RealEngine,
  name: string,
  image: string,
  labels: Record<string, string>,
): Promise<void> {
  const { status } = await real.api('POST', `/containers/create?name=${name}`, {
    Image: image,
    Labels: labels,
  });
  expect(status).toBe(201);
  expect((await real.api('POST', `/containers/${name}/start`)).status).toBe(204);
}
