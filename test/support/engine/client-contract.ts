import { describe, expect, it } from 'vitest';
import type { Engine, EngineErrorCode } from '../../../src/worker/engine/engine.ts';
import { containerSpec } from './spec.ts';

/** An engine as its client sees it, with `web:v1` and `web:v2` in a registry, of which `latest` is `v1` at first. */
export interface ContractEngine {
  engine: Engine;
  /** Returns the reference of a tag. */
  reference(tag: string): string;
  digest(tag: string): string;
  /** Lets `latest` stand for `v2`. */
  move(): void;
  /** Kills the engine, and starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

const never = new AbortController().signal;
const PORT = { starting_ports: [{ '28080': '80' }] };

/** What every engine does for the client, whether it is in memory or a real Docker. */
export function describeClient(title: string, open: () => Promise<ContractEngine>): void {
  /** Pulls `web:TAG` and creates a container of it, which is not started. */
  async function create(
    { engine, reference }: ContractEngine,
    tag: string,
    record: Parameters<typeof containerSpec>[0] = {},
    fields: Parameters<typeof containerSpec>[1] = {},
  ): Promise<string> {
    await engine.pull(reference(tag), never);
    return engine.create(containerSpec({ container_image: reference(tag), ...record }, fields));
  }
  const summary = async ({ engine }: ContractEngine, id: string) =>
    (await engine.containers()).find((container) => container.id === id);
  const names = async ({ engine }: ContractEngine) => (await engine.containers()).map(({ name }) => name);
  const rejects = (work: Promise<unknown>, code: EngineErrorCode, message = /./) =>
    expect(work).rejects.toMatchObject({
      name: 'EngineError',
      code,
      message: expect.stringMatching(message),
    });

  describe(title, () => {
    it('pulls by tag and by digest, and finds the image by each of its names', async () => {
      const { engine, reference, digest } = await open();
      const image = await engine.pull(reference('v1'), never);
      const byDigest = `${reference('v1').replace(/:v1$/, '')}@${digest('v1')}`;
      expect(image).toEqual({
        id: expect.stringMatching(/^sha256:/),
        tags: [reference('v1')],
        digests: [byDigest],
      });
      expect(await engine.pull(byDigest, never)).toEqual(image);
      expect(await engine.image(image.id)).toEqual(image);
      expect(await engine.images()).toEqual([image]);
      expect(await engine.image(reference('v2'))).toBeNull();
    });

    it('pulls a tag that has moved, and keeps the image that lost it', async () => {
      const { engine, reference, move } = await open();
      const before = await engine.pull(reference('latest'), never);
      move();
      const after = await engine.pull(reference('latest'), never);
      expect(after.id).not.toBe(before.id);
      expect(await engine.image(before.id)).toMatchObject({ id: before.id, tags: [] });
    });

    it('runs a container from its creation to its removal', async () => {
      const given = await open();
      const { engine } = given;
      const id = await create(given, 'v1', PORT);
      expect(await summary(given, id)).toMatchObject({
        name: 'web-1',
        state: 'created',
        ports: [],
        health: 'none',
      });
      await engine.start(id);
      await engine.start(id);
      await expect.poll(async () => (await summary(given, id))?.health).toBe('healthy');
      expect(await summary(given, id)).toMatchObject({
        state: 'running',
        labels: { 'holdfast.app': 'web' },
        ports: [{ port: 28080, protocol: 'tcp' }],
      });
      expect(await engine.inspect(id)).toMatchObject({
        restarts: 0,
        exitCode: null,
        healthLimit: expect.any(Number),
        restart: 'unless-stopped',
      });
      expect(await engine.stats(id)).toEqual({
        cpu: expect.toSatisfy((percent: number) => percent >= 0 && percent < 200),
        memory: expect.toSatisfy((bytes: number) => bytes > 0 && bytes < 2 ** 28),
      });
      await engine.restart(id, 1);
      await engine.rename(id, 'web-1.old');
      await engine.rename(id, 'web-1.old');
      await engine.stop(id, 1);
      await engine.stop(id, 1);
      expect(await summary(given, id)).toMatchObject({ name: 'web-1.old', state: 'exited', ports: [] });
      expect(await engine.stats(id)).toBeNull();
      expect(await engine.inspect(id)).toMatchObject({ exitCode: 137 });
      await engine.remove(id);
      await engine.remove(id);
      await engine.stop(id, 1);
      expect(await engine.inspect(id)).toBeNull();
      expect(await engine.containers()).toEqual([]);
    });

    it('removes a container that runs', async () => {
      const given = await open();
      const id = await create(given, 'v1');
      await given.engine.start(id);
      await given.engine.remove(id);
      expect(await given.engine.inspect(id)).toBeNull();
    });

    it('joins all networks before a container has its name, and makes none if one is missing', async () => {
      const given = await open();
      for (const name of ['nebula', 'nebula', 'other']) await given.engine.createNetwork(name);
      const networks = await given.engine.networks();
      expect(networks.filter((name) => ['bridge', 'nebula', 'other'].includes(name)).sort()).toEqual([
        'bridge',
        'nebula',
        'other',
      ]);
      await given.engine.start(await create(given, 'v1', {}, { networks: ['nebula', 'other'] }));
      for (const missing of [['nebula', 'missing'], ['missing']])
        await rejects(create(given, 'v1', {}, { name: 'web-2', networks: missing }), 'network-missing');
      expect(await names(given)).toEqual(['web-1']);
    });

    it('recreates what a killed worker left while it joined networks', async () => {
      const given = await open();
      await given.engine.createNetwork('nebula');
      const left = await create(given, 'v1', {}, { name: 'web-1.joining' });
      expect(await create(given, 'v1', {}, { networks: ['nebula', 'bridge'] })).not.toBe(left);
      expect(await names(given)).toEqual(['web-1']);
    });

    it('removes an image with all its tags, but not one that a container uses', async () => {
      const given = await open();
      const { engine, reference } = given;
      const { id } = await engine.pull(reference('v1'), never);
      await engine.pull(reference('latest'), never);
      const container = await create(given, 'v1');
      expect(await engine.removeImage(id)).toBe(false);
      await engine.remove(container);
      expect(await engine.removeImage(id)).toBe(true);
      expect(await engine.removeImage(id)).toBe(false);
      expect(await engine.images()).toEqual([]);
    });

    it('says that a port is taken, and the container can start once it is free', async () => {
      const given = await open();
      const { engine } = given;
      const first = await create(given, 'v1', PORT);
      const second = await create(given, 'v2', PORT, { name: 'web-2' });
      await engine.start(first);
      await rejects(engine.start(second), 'port-taken', /28080/);
      expect(await engine.inspect(second)).toMatchObject({ exitCode: 128 });
      expect(await summary(given, second)).toMatchObject({ state: 'created' });
      await engine.stop(first, 1);
      await engine.start(second);
      expect(await summary(given, second)).toMatchObject({ state: 'running' });
    });

    it('says that a name is taken, and that there is no image and no container', async () => {
      const given = await open();
      const { engine, reference } = given;
      await create(given, 'v1');
      await rejects(create(given, 'v2'), 'name-taken', /web-1/);
      const other = await create(given, 'v2', {}, { name: 'web-2' });
      await rejects(engine.rename(other, 'web-1'), 'name-taken', /web-1/);
      const missing = containerSpec({ container_image: reference('nowhere') }, { name: 'web-3' });
      await rejects(engine.create(missing), 'image-missing', /nowhere/);
      await rejects(engine.start('nobody'), 'absent', /nobody/);
      await rejects(engine.restart('nobody', 1), 'absent', /nobody/);
      await rejects(engine.rename('nobody', 'x'), 'absent', /nobody/);
    });

    it('says that the engine is unavailable while it is away, and starts what ended with it', async () => {
      const given = await open();
      const { engine } = given;
      const id = await create(given, 'v1', PORT);
      await engine.start(id);
      await given.kill();
      await rejects(engine.containers(), 'unavailable');
      await rejects(engine.connect(), 'unavailable');
      await given.start();
      await expect.poll(async () => (await summary(given, id))?.state).toBe('exited');
      await engine.start(id);
      expect(await summary(given, id)).toMatchObject({ state: 'running' });
    });
  });
}
