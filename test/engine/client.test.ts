import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ContainerDetails, EngineErrorCode } from '../../src/worker/engine/engine.ts';
import type { HostPort } from '../../src/worker/plan/model.ts';
import { describeClient } from '../support/engine/client-contract.ts';
import { containerSpec } from '../support/engine/spec.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ask } from '../support/real-engine.ts';

const suite = engineSuite();
const never = new AbortController().signal;

/** Pulls `web:TAG` and creates a container of it, which is not started. */
async function create(
  tag: string,
  record: Parameters<typeof containerSpec>[0] = {},
  fields: Parameters<typeof containerSpec>[1] = {},
): Promise<string> {
  const { engine, registry } = suite();
  const image = registry.reference(tag);
  await engine.pull(image, never);
  return engine.create(containerSpec({ container_image: image, ...record }, fields));
}

async function summary(id: string) {
  const found = (await suite().engine.containers()).find((container) => container.id === id);
  if (found === undefined) throw new Error(`${id} is not in the list`);
  return found;
}

async function run(id: string, ...command: string[]): Promise<string> {
  const { real } = suite();
  const body = { AttachStdout: true, AttachStderr: true, Tty: true, Cmd: ['/bin/busybox', ...command] };
  const { body: made } = await real.api('POST', `/containers/${id}/exec`, body);
  const start = `/exec/${(made as { Id: string }).Id}/start`;
  return `${(await real.api('POST', start, { Detach: false, Tty: true })).body}`.trim();
}

describeClient('the client of a real Docker, as every client', async () => {
  const { engine, registry, real } = suite();
  return {
    engine,
    reference: (tag) => registry.reference(tag),
    digest: (tag) => registry.digest(tag),
    move: () => registry.move('latest', 'v2'),
    kill: () => real.kill(),
    start: () => real.start(),
  };
});

describe('the client of a real Docker', () => {
  it('learns what the engine and the machine are', async () => {
    expect(await suite().engine.connect()).toMatchObject({
      api: expect.stringMatching(/^1\.4[1-4]$/),
      version: expect.stringMatching(/^\d+\./),
      name: expect.stringMatching(/./),
      cores: expect.toSatisfy((cores: number) => cores >= 1),
      memory: expect.toSatisfy((bytes: number) => bytes > 2 ** 28),
      root: expect.stringMatching(/^\//),
    });
  });

  it('runs a container that answers, with its variables', async () => {
    const { engine } = suite();
    const id = await create('v1', { starting_ports: [{ '28080': '80' }], env_vars: { COLOUR: 'a=b' } });
    await engine.start(id);
    await expect.poll(() => ask(28080)).toBe('v1');
    const ports: HostPort[] = [{ address: '127.0.0.1', port: 28080, protocol: 'tcp' }];
    expect(await summary(id)).toMatchObject({ ports });
    expect(await engine.inspect(id)).toEqual<ContainerDetails>({
      restarts: 0,
      exitCode: null,
      healthLimit: 10,
      stopTimeout: null,
      restart: 'unless-stopped',
    });
    expect(await run(id, 'sh', '-c', '/bin/busybox echo $COLOUR')).toBe('a=b');
    await engine.restart(id, 1);
    await expect.poll(() => ask(28080)).toBe('v1');
  });

  it('gives a container its mounts and devices, and counts its ports up with its slot', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), 'from the machine');
    const id = await create(
      'v1',
      {
        volumes: [`${folder}:/bound:ro`, 'data:/data'],
        devices: ['/dev/null:/dev/other:rw'],
        starting_ports: [{ '127.0.0.1:28080': '80' }, { '28053': '53/udp' }],
      },
      { slot: 3 },
    );
    await suite().engine.start(id);
    await expect.poll(() => ask(28082)).toBe('v1');
    expect((await summary(id)).ports).toEqual(
      expect.arrayContaining([
        { address: '127.0.0.1', port: 28082, protocol: 'tcp' },
        { address: '127.0.0.1', port: 28055, protocol: 'udp' },
      ]),
    );
    expect(await run(id, 'cat', '/bound/file')).toBe('from the machine');
    expect(await run(id, 'touch', '/bound/file')).toContain('Read-only');
    expect(await run(id, 'touch', '/data/file')).toBe('');
    expect(await run(id, 'ls', '/dev/other')).toBe('/dev/other');
  });

  it('sees health, restarts, the exit code and the last lines of what a container wrote', async () => {
    const { engine, registry } = suite();
    registry.push('talks', {
      version: 'talks',
      command: ['/bin/sh', '-c', 'echo one; echo two; /bin/busybox sleep 0.1; echo three >&2; exit 3'],
    });
    const sick = await create('sick', {}, { name: 'sick-1' });
    await engine.start(sick);
    await expect.poll(async () => (await summary(sick)).health).toBe('unhealthy');
    const talks = await create('talks', {}, { name: 'talks-1' });
    await engine.start(talks);
    await expect.poll(async () => (await engine.inspect(talks))?.restarts).toBeGreaterThan(0);
    await engine.stop(talks, 1);
    // 137: the stop found it running again.
    expect([3, 137]).toContain((await engine.inspect(talks))?.exitCode);
    expect(await engine.logs(talks, 2)).toEqual(['two', 'three']);
    expect(await engine.logs('no-such-container', 2)).toEqual([]);
  });

  it('makes one network of a name however many ask for it at once', async () => {
    const { engine, real } = suite();
    await Promise.all(Array.from({ length: 8 }, () => engine.createNetwork('nebula')));
    const { body } = await real.api('GET', '/networks');
    expect((body as { Name: string }[]).filter(({ Name }) => Name === 'nebula')).toHaveLength(1);
  });

  it('gives a container the name of its app on all its networks', async () => {
    const { engine } = suite();
    for (const name of ['nebula', 'other']) await engine.createNetwork(name);
    const id = await create('v1', {}, { networks: ['nebula', 'other'] });
    await engine.start(id);
    const { body } = await suite().real.api('GET', `/containers/${id}/json`);
    expect(body).toMatchObject({
      Name: '/web-1',
      NetworkSettings: {
        Networks: {
          nebula: { Aliases: expect.arrayContaining(['web']) },
          other: { Aliases: expect.arrayContaining(['web']) },
        },
      },
    });
  });

  it('lets a container find another one by the name of its app, on each network of users', async () => {
    const { engine, real } = suite();
    await engine.createNetwork('nebula');
    await engine.start(await create('v1', {}, { networks: ['nebula', 'bridge'] }));
    const command = ['/bin/busybox', 'ping', '-c', '1', '-W', '5', 'web'];
    const other = { app_name: 'other', command, restart: 'no' } as const;
    const id = await create('v1', other, { networks: ['nebula'] });
    await engine.start(id);
    await expect
      .poll(async () => (await real.api('GET', `/containers/${id}/json`)).body)
      .toMatchObject({ State: { Status: 'exited', ExitCode: 0 } });
  });

  it('runs a container in the network of the machine', async () => {
    const { engine, registry } = suite();
    registry.push('host', {
      version: 'host',
      command: ['/bin/busybox', 'httpd', '-f', '-p', '127.0.0.1:28090', '-h', '/www'],
    });
    await engine.start(await create('host', {}, { networks: ['host'] }));
    await expect.poll(() => ask(28090)).toBe('host');
  });
});

describe('a real Docker that refuses a call', () => {
  const rejects = (work: Promise<unknown>, code: EngineErrorCode, message: RegExp) =>
    expect(work).rejects.toMatchObject({ code, message: expect.stringMatching(message) });

  it('says before the creation or at the start that a network is missing', async () => {
    const { engine, real } = suite();
    await rejects(create('v1', {}, { networks: ['missing'] }), 'network-missing', /missing/);
    await engine.createNetwork('nebula');
    const id = await create('v1', {}, { networks: ['nebula'] });
    await real.api('DELETE', '/networks/nebula');
    await rejects(engine.start(id), 'network-missing', /nebula/);
  });

  it('keeps the values of variables out of its errors', async () => {
    const work = create('v1', { env_vars: { TOKEN: 'a secret' }, volumes: ['/a secret/b:c'] });
    await expect(work).rejects.toMatchObject({ message: expect.not.stringContaining('a secret') });
  });
});

describe('the client, when a real Docker', () => {
  it('loses its power, finds the containers that ran running', async () => {
    const { engine, real } = suite();
    const id = await create('v1', { starting_ports: [{ '28080': '80' }] });
    await engine.start(id);
    const stopped = await create('v2', {}, { name: 'web-2' });
    await engine.start(stopped);
    await engine.stop(stopped, 1);
    await real.powerOff();
    expect(await ask(28080)).toBeNull();
    await real.start();
    await expect.poll(() => ask(28080)).toBe('v1');
    expect(await summary(stopped)).toMatchObject({ state: 'exited' });
  });
});
