import { expect, it } from 'vitest';
import { engineAt } from '../../../src/worker/engine/client.ts';
import { observe } from '../../../src/worker/loop/observe.ts';
import { labelsFor } from '../../../src/worker/plan/labels.ts';
import { containerSpec } from '../../support/engine/spec.ts';
import type { DialectName } from '../../support/fake-engine/dialects.ts';
import { startFakeEngine } from '../../support/fake-engine.ts';

const IMAGE = 'example.com/job:v1';
const LABELS = labelsFor(
  { name: 'job', id: 1, content: '', count: 1 },
  { slot: 1, source: '', worker: 'main' },
);

it.each<DialectName>(['docker-1.41', 'docker-1.52'])(
  'a look at %s shows how a container ended last, also if nobody saw it run in between, and asks once',
  async (dialect) => {
    const fake = await startFakeEngine(dialect);
    fake.registry.push(IMAGE, 'v1');
    const engine = engineAt(fake.socket, { credentials: { fixed: null, dockerConfig: null, env: {} } });
    await engine.pull(IMAGE, new AbortController().signal);
    const spec = containerSpec({ container_image: IMAGE, restart: 'no' }, { name: 'job-1', labels: LABELS });
    const id = await engine.create(spec);
    const inspected = new Map();
    const look = async () => {
      const ownership = { worker: 'main', prefix: '', takesOver: () => false };
      const attention = { isChanging: () => false, references: [] };
      const { containers } = await observe(engine, ownership, attention, inspected);
      return containers.map(({ exitCode }) => exitCode);
    };
    const end = async (code: number): Promise<void> => {
      await engine.start(id);
      fake.exit('job-1', code);
    };
    await end(0);
    expect([await look(), await look()]).toEqual([[0], [0]]);
    await end(3);
    expect([await look(), await look()]).toEqual([[3], [3]]);
    expect(fake.calls.filter((call) => call.startsWith(`GET /containers/${id}/json`))).toHaveLength(2);
  },
);

it('a look leaves alone what the engine does not tell, and shows everything else', async () => {
  const fake = await startFakeEngine();
  fake.registry.push(IMAGE, 'v1');
  const limits = { quick: 0.3, slow: 1, pullIdle: 1 };
  const credentials = { fixed: null, dockerConfig: null, env: {} };
  const engine = engineAt(fake.socket, { credentials, limits });
  await engine.pull(IMAGE, new AbortController().signal);
  const create = (app: string) => {
    const labels = labelsFor(
      { name: app, id: 1, content: '', count: 1 },
      { slot: 1, source: '', worker: 'main' },
    );
    return engine.create(
      containerSpec({ container_image: IMAGE, app_name: app }, { name: `${app}-1`, labels }),
    );
  };
  const hanging = await create('hanging');
  await create('web');
  fake.fail(new RegExp(`GET /containers/${hanging}/json`), 'hangs', 10);
  fake.fail(/GET \/images\/json/, { status: 500, message: 'layer does not exist' }, 10);
  const ownership = { worker: 'main', prefix: '', takesOver: () => false };
  const attention = { isChanging: () => true, references: [IMAGE] };
  const seen = await observe(engine, ownership, attention, new Map());
  expect(seen.containers.map(({ name }) => name).sort()).toEqual(['hanging-1', 'web-1']);
  expect([...seen.unclear]).toEqual([
    ['hanging', expect.stringMatching(/^the engine does not say what hanging-1 is like: .*0\.3/)],
  ]);
  expect(seen.blind).toBe('the engine does not list its images: layer does not exist');
  fake.fail(/GET \/containers\/json/, { status: 500, message: 'no' }, 10);
  await expect(observe(engine, ownership, attention, new Map())).rejects.toMatchObject({
    name: 'EngineError',
  });
});

it('a look takes containers with labels of this worker, but another name, for those of somebody else', async () => {
  const fake = await startFakeEngine();
  const labels = labelsFor(
    { name: 'web', id: 1, content: '', count: 2 },
    { slot: 2, source: '', worker: 'main' },
  );
  const nebula = { orchestrator: 'nebula', app_name: 'web' };
  for (const name of ['web-2', 'web-2.old', 'web-2.next.joining', 'web-1', 'angry_bohr'])
    fake.addContainer(name, { Labels: labels });
  for (const name of ['web-3', 'odd']) fake.addContainer(name, { Labels: nebula });
  const engine = engineAt(fake.socket, { credentials: { fixed: null, dockerConfig: null, env: {} } });
  const ownership = { worker: 'main', prefix: '', takesOver: () => true };
  const attention = { isChanging: () => false, references: [] };
  const { containers, foreign } = await observe(engine, ownership, attention, new Map());
  expect(containers.map(({ name, role }) => [name, role]).sort()).toEqual([
    ['web-2', 'current'],
    ['web-2.next.joining', 'joining'],
    ['web-2.old', 'old'],
    ['web-3', 'current'],
  ]);
  expect(foreign.map(({ name, looksLike }) => [name, looksLike]).sort()).toEqual([
    ['angry_bohr', 'own'],
    ['odd', 'nebula'],
    ['web-1', 'own'],
  ]);
});
