import { describe, expect, it } from 'vitest';
import { ENGINE_LIMITS, engineAt } from '../../../src/worker/engine/client.ts';
import { type Engine, EngineError, type EngineErrorCode } from '../../../src/worker/engine/engine.ts';
import { describeClient } from '../../support/engine/client-contract.ts';
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

for (const dialect of NAMES)
  describeClient(`the client of an engine, as every client, with ${dialect},`, async () => {
    const fake = await startFakeEngine(dialect);
    const reference = (tag: string): string => `example.com/web:${tag}`;
    for (const [tag, version] of [
      ['v1', 'v1'],
      ['latest', 'v1'],
      ['v2', 'v2'],
    ] as const)
      fake.registry.push(reference(tag), version, { health: 'healthy' });
    return {
      engine: engineAt(fake.socket, { credentials }),
      reference,
      digest: (tag) => fake.registry.find('example.com/web', tag)?.digest ?? '',
      move: () => void fake.registry.push(reference('latest'), 'v2'),
      kill: () => fake.crash(),
      start: () => fake.start(),
    };
  });

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

  it('reads the last lines of a log, and none if there is no log', async () => {
    const { fake, engine } = await startWithImages(dialect);
    const id = await engine.create(web());
    fake.container(id).log.push('one', 'two', 'three');
    expect(await engine.logs(id, 2)).toEqual(['two', 'three']);
    expect(await engine.logs('nobody', 2)).toEqual([]);
    fake.container(id).log.push('x'.repeat(16_384));
    expect(await engine.logs(id, 1)).toEqual([`${'x'.repeat(500)} …`]);
  });

  it('removes the container if it cannot join a network', async () => {
    const { fake, engine } = await startWithImages(dialect);
    for (const name of ['nebula', 'other']) await engine.createNetwork(name);
    const spec = { ...web(), networks: ['nebula', 'other'] };
    fake.fail(/connect$/, { status: 500, message: 'no' });
    await rejects(engine.create(spec), 'refused');
    expect(fake.names()).toEqual([]);
  });

  it('never touches the container of somebody else that has the name for joining', async () => {
    const { fake, engine } = await startWithImages(dialect);
    for (const name of ['nebula', 'other']) await engine.createNetwork(name);
    fake.addContainer('web-1.joining', {}, 'created');
    await rejects(engine.create({ ...web(), networks: ['nebula', 'other'] }), 'name-taken');
    expect(fake.names()).toEqual(['web-1.joining']);
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
