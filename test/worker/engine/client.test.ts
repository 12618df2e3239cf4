import { describe, expect, it } from 'vitest';
import { ENGINE_LIMITS, engineAt } from '../../../src/worker/engine/client.ts';
import { type Engine, EngineError, type EngineErrorCode } from '../../../src/worker/engine/engine.ts';
import { containerSpec } from '../../support/engine/spec.ts';
import { DIALECTS, type DialectName } from '../../support/fake-engine/dialects.ts';
import type { PullTrouble } from '../../support/fake-engine/registry.ts';
import { type FakeEngine, type Fault, startFakeEngine } from '../../support/fake-engine.ts';

const NAMES = Object.keys(DIALECTS) as DialectName[];
const V1 = 'example.com/web:v1';
const V2 = 'example.com/web:v2';
const credentials = { fixed: null, dockerConfig: null, env: {} };
const never = new AbortController().signal;

/** A fake engine that has two versions of an image in its registry, and a client with a limit for pulls in seconds. */
async function start(dialect: DialectName, pullIdle = 60): Promise<{ fake: FakeEngine; engine: Engine }> {
  const fake = await startFakeEngine(dialect);
  fake.registry.push(V1, 'v1', { health: 'manual' });
  fake.registry.push(V2, 'v2');
  const limits = { ...ENGINE_LIMITS, pullIdle };
  return { fake, engine: engineAt(fake.socket, { credentials, limits }) };
}

async function startWithImages(dialect: DialectName): Promise<{ fake: FakeEngine; engine: Engine }> {
  const started = await start(dialect);
  for (const reference of [V1, V2]) await started.engine.pull(reference, never);
  return started;
}

const web = (name = 'web-1', record: Parameters<typeof containerSpec>[0] = {}) =>
  containerSpec({ container_image: V1, ...record }, { name });

async function rejects(work: Promise<unknown>, code: EngineErrorCode): Promise<void> {
  await expect(work).rejects.toSatisfy((error) => error instanceof EngineError);
  await expect(work).rejects.toMatchObject({ code });
}

describe.each(NAMES)('the client of an engine, with %s,', (dialect) => {
  it('negotiates the version of the API, and learns about the machine', async () => {
    const { fake, engine } = await start(dialect);
    const { version } = DIALECTS[dialect];
    expect(await engine.connect()).toEqual({
      version,
      api: dialect === 'docker-1.52' ? '1.44' : '1.41',
      name: 'device-7',
      cores: 4,
      memory: 2 ** 32,
      root: '/var/lib/docker',
    });
    expect(fake.calls).toEqual(['GET /_ping', 'GET /info']);
  });

  it('pulls an image by tag and by digest', async () => {
    const { fake, engine } = await start(dialect);
    const image = await engine.pull(V1, never);
    const digest = fake.registry.find('example.com/web', 'v1')?.digest;
    expect(image).toEqual({
      id: image.id,
      tags: [V1],
      digests: [`example.com/web@${digest}`],
      size: 2_000_000,
    });
    expect(await engine.pull(`example.com/web:v1@${digest}`, never)).toEqual(image);
    expect(await engine.images()).toEqual([image]);
    expect(await engine.image(image.id)).toEqual(image);
    expect(await engine.image(V2)).toBeNull();
  });

  it('pulls a tag that has moved, and keeps the image that lost it', async () => {
    const { fake, engine } = await start(dialect);
    const before = await engine.pull(V1, never);
    fake.registry.push(V1, 'another');
    expect((await engine.pull(V1, never)).id).not.toBe(before.id);
    expect(await engine.image(before.id)).toMatchObject({ tags: [] });
  });

  it('runs a container from its creation to its removal', async () => {
    const { fake, engine } = await startWithImages(dialect);
    const id = await engine.create(web('web-1', { starting_ports: [{ '8080': '80' }] }));
    const found = async () => (await engine.containers())[0];
    expect(await found()).toMatchObject({ id, name: 'web-1', state: 'created', image: V1, ports: [] });
    await engine.start(id);
    await engine.start(id);
    expect(await found()).toMatchObject({ state: 'running', health: 'starting' });
    fake.setHealth('web-1', 'healthy');
    const ports = [{ address: null, port: 8080, protocol: 'tcp' }];
    expect(await found()).toMatchObject({ health: 'healthy', labels: { 'holdfast.app': 'web' }, ports });
    expect(await engine.inspect(id)).toMatchObject({
      restarts: 0,
      exitCode: null,
      error: '',
      healthLimit: 7,
    });
    expect(await engine.stats(id)).toEqual({ cpu: 50, memory: 2 ** 21 });
    await engine.restart(id, 1);
    await engine.rename(id, 'web-1.old');
    await engine.rename(id, 'web-1.old');
    await engine.stop(id, 1);
    await engine.stop(id, 1);
    expect(await found()).toMatchObject({ name: 'web-1.old', state: 'exited', ports: [] });
    expect(await engine.inspect(id)).toMatchObject({ exitCode: 137 });
    expect(await engine.stats(id)).toBeNull();
    await engine.remove(id);
    await engine.remove(id);
    await engine.stop(id, 1);
    expect(await engine.inspect(id)).toBeNull();
    expect(await engine.containers()).toEqual([]);
  });

  it('removes a container that runs', async () => {
    const { fake, engine } = await startWithImages(dialect);
    const id = await engine.create(web());
    await engine.start(id);
    await engine.remove(id);
    expect(fake.names()).toEqual([]);
  });

  it('reads the last lines of a log, and none if there is no log', async () => {
    const { fake, engine } = await startWithImages(dialect);
    const id = await engine.create(web());
    fake.container(id).log.push('one', 'two', 'three');
    expect(await engine.logs(id, 2)).toEqual(['two', 'three']);
    expect(await engine.logs('nobody', 2)).toEqual([]);
    fake.container(id).log.push('x'.repeat(16_384));
    expect(await engine.logs(id, 1)).toEqual([`${'x'.repeat(500)} …`]);
  });

  it('makes a network once', async () => {
    const { engine } = await start(dialect);
    await engine.createNetwork('nebula');
    await engine.createNetwork('nebula');
    expect((await engine.networks()).filter((name) => name === 'nebula')).toHaveLength(1);
  });

  it('joins all networks before a container has its name, and makes none if a network is missing', async () => {
    const { fake, engine } = await startWithImages(dialect);
    await engine.createNetwork('nebula');
    await engine.createNetwork('other');
    const id = await engine.create({ ...web(), networks: ['nebula', 'other'] });
    expect(fake.container(id)).toMatchObject({ name: 'web-1', networks: ['nebula', 'other'] });
    await rejects(engine.create({ ...web('web-2'), networks: ['nebula', 'missing'] }), 'network-missing');
    await rejects(engine.create({ ...web('web-2'), networks: ['missing'] }), 'network-missing');
    expect(fake.names()).toEqual(['web-1']);
  });

  it('removes the container if it cannot join a network, and replaces one that a killed worker left', async () => {
    const { fake, engine } = await startWithImages(dialect);
    for (const name of ['nebula', 'other']) await engine.createNetwork(name);
    const spec = { ...web(), networks: ['nebula', 'other'] };
    fake.fail(/connect$/, { status: 500, message: 'no' });
    await rejects(engine.create(spec), 'refused');
    expect(fake.names()).toEqual([]);
    const left = await engine.create(web('web-1.joining'));
    expect(await engine.create(spec)).not.toBe(left);
    expect(fake.names()).toEqual(['web-1']);
  });

  it('never touches the container of somebody else that has the name for joining', async () => {
    const { fake, engine } = await startWithImages(dialect);
    for (const name of ['nebula', 'other']) await engine.createNetwork(name);
    fake.addContainer('web-1.joining', {}, 'created');
    await rejects(engine.create({ ...web(), networks: ['nebula', 'other'] }), 'name-taken');
    expect(fake.names()).toEqual(['web-1.joining']);
  });

  it('says that a port, a name or an image is not there to be used', async () => {
    const { engine } = await startWithImages(dialect);
    const ports = { starting_ports: [{ '8080': '80' }] };
    const first = await engine.create(web('web-1', ports));
    const second = await engine.create(web('web-2', ports));
    await engine.start(first);
    await rejects(engine.start(second), 'port-taken');
    expect(await engine.inspect(second)).toMatchObject({
      exitCode: 128,
      error: expect.stringContaining('8080'),
    });
    await engine.stop(first, 1);
    await engine.start(second);
    await rejects(engine.create(web()), 'name-taken');
    await rejects(engine.rename(second, 'web-1'), 'name-taken');
    await rejects(engine.create(web('web-3', { container_image: 'example.com/web:v9' })), 'image-missing');
    await rejects(engine.start('nobody'), 'absent');
    await rejects(engine.restart('nobody', 1), 'absent');
    await rejects(engine.rename('nobody', 'somebody'), 'absent');
  });

  it('removes an image with all its tags, but not one that a container uses', async () => {
    const { fake, engine } = await startWithImages(dialect);
    fake.registry.push('example.com/web:latest', 'v1');
    const { id } = await engine.pull('example.com/web:latest', never);
    const container = await engine.create(web());
    expect(await engine.removeImage(id)).toBe(false);
    expect((await engine.image(id))?.tags).toHaveLength(2);
    await engine.remove(container);
    expect(await engine.removeImage(id)).toBe(true);
    expect(await engine.removeImage(id)).toBe(false);
  });

  it('sees a version that crashes', async () => {
    const { fake, engine } = await start(dialect);
    fake.registry.push(V1, 'crashing', { exits: 3 });
    await engine.pull(V1, never);
    const id = await engine.create(web());
    await engine.start(id);
    expect((await engine.containers())[0]?.state).toBe('restarting');
    expect(await engine.inspect(id)).toMatchObject({ exitCode: 3, restarts: 2 });
  });

  it('tells how a container is restarted', async () => {
    const { engine } = await startWithImages(dialect);
    const id = await engine.create(web());
    expect(await engine.inspect(id)).toMatchObject({ restart: 'unless-stopped' });
  });

  it('says that the engine is unavailable while it is away, and goes on when it is back', async () => {
    const { fake, engine } = await startWithImages(dialect);
    const id = await engine.create(web());
    await engine.start(id);
    await fake.crash();
    await rejects(engine.containers(), 'unavailable');
    await rejects(engine.connect(), 'unavailable');
    await fake.start();
    expect((await engine.containers())[0]?.state).toBe('exited');
    await engine.start(id);
    expect((await engine.containers())[0]?.state).toBe('running');
  });

  const pulls: Record<PullTrouble, EngineErrorCode> = {
    down: 'refused',
    unauthorized: 'unauthorized',
    '500': 'refused',
    html: 'refused',
    truncated: 'refused',
    corrupt: 'refused',
    'no-space': 'no-space',
    hangs: 'timeout',
    retries: 'timeout',
    cut: 'unavailable',
    silent: 'refused',
    slow: 'aborted',
  };
  for (const [trouble, code] of Object.entries(pulls)) {
    it(`rejects a pull as ${code} that fails like this: ${trouble}`, async () => {
      const { fake, engine } = await start(dialect, code === 'timeout' ? 0.2 : 60);
      fake.registry.trouble(V1, trouble as PullTrouble);
      const abort = new AbortController();
      const pull = engine.pull(V1, abort.signal);
      if (code === 'aborted') setTimeout(() => abort.abort(), 50);
      await rejects(pull, code);
      expect(await engine.image(V1)).toBeNull();
      fake.registry.trouble(V1, null);
      await engine.connect();
    });
  }

  it('rejects a pull as image-missing if there is no such tag', async () => {
    const { engine } = await start(dialect);
    await rejects(engine.pull('example.com/web:v9', never), 'image-missing');
  });

  const faults: Record<string, { fault: Fault; code: EngineErrorCode }> = {
    'half an answer': { fault: 'half', code: 'unavailable' },
    'no answer': { fault: 'cut', code: 'unavailable' },
    'the answer of something else': { fault: 'html', code: 'unavailable' },
    'an error of the engine': { fault: { status: 500, message: 'layer does not exist' }, code: 'refused' },
  };
  for (const [name, { fault, code }] of Object.entries(faults)) {
    it(`rejects a call as ${code} that gets ${name}`, async () => {
      const { fake, engine } = await startWithImages(dialect);
      fake.fail(/containers\/json/, fault);
      await rejects(engine.containers(), code);
      fake.fail(/containers\/json/, fault);
      await rejects(engine.containers(), code);
      expect(await engine.containers()).toEqual([]);
    });
  }

  it('gives up a call that hangs', async () => {
    const fake = await startFakeEngine(dialect);
    const engine = engineAt(fake.socket, { credentials, limits: { quick: 0.2, slow: 0.2, pullIdle: 0.2 } });
    await engine.connect();
    fake.fail(/./, 'hangs', Number.POSITIVE_INFINITY);
    await rejects(engine.containers(), 'timeout');
    await rejects(engine.connect(), 'timeout');
  });

  it('never has the value of a variable in an error', async () => {
    const { fake, engine } = await startWithImages(dialect);
    fake.fail(/create/, { status: 400, message: 'invalid variable TOKEN=a secret, and more' });
    const create = engine.create(web('web-1', { env_vars: { TOKEN: 'a secret' } }));
    await expect(create).rejects.toThrow(/^invalid variable TOKEN=\*\*\*, and more$/);
  });
});

describe('the client of an engine', () => {
  it('negotiates again after the engine was away, since it may be another version then', async () => {
    const { fake, engine } = await start('docker-1.41');
    await engine.containers();
    await fake.crash();
    await rejects(engine.containers(), 'unavailable');
    await fake.start();
    await engine.containers();
    expect(fake.calls.filter((call) => call === 'GET /_ping')).toHaveLength(2);
  });

  it('says what to do if it may not use the socket or nothing is there', async () => {
    const engine = engineAt('/nowhere/docker.sock', { credentials });
    await expect(engine.connect()).rejects.toThrow(
      /^the container engine at \/nowhere\/docker.sock cannot be reached/,
    );
  });

  it('sends credentials with padding, and never shows them', async () => {
    const fake = await startFakeEngine();
    const fixed = { registry: 'example.com', username: 'dev', password: 'pass>>word??' };
    const engine = engineAt(fake.socket, { credentials: { ...credentials, fixed } });
    fake.fail(/images\/create/, { status: 500, message: 'unauthorized: pass>>word?? is wrong' });
    const pull = engine.pull(V1, never);
    await expect(pull).rejects.toThrow('unauthorized: *** is wrong');
    const header = `${fake.headers()['x-registry-auth']}`;
    expect(header).toMatch(/^[A-Za-z0-9_-]+=*$/);
    expect(header.length % 4).toBe(0);
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({
      username: 'dev',
      password: 'pass>>word??',
      serveraddress: 'example.com',
    });
  });

  it('sends no credentials to another registry than theirs', async () => {
    const fake = await startFakeEngine();
    const fixed = { registry: 'example.com', username: 'dev', password: 'secret' };
    const engine = engineAt(fake.socket, { credentials: { ...credentials, fixed } });
    await rejects(engine.pull('other.example/web:v1', never), 'image-missing');
    expect(fake.headers()['x-registry-auth']).toBeUndefined();
  });
});
