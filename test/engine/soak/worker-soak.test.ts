import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { startFleet, startWorker, type TestWorker } from '../../support/engine/fleet.ts';
import { type EngineSuite, engineSuite } from '../../support/engine/suite.ts';
import { temporaryFolder } from '../../support/folder.ts';
import { randomNumbers } from '../../support/random.ts';

/** Seconds of commits and kills: `HOLDFAST_TEST_SOAK=300 npm run test:faults -- worker-soak`. */
const SECONDS = Number(process.env['HOLDFAST_TEST_SOAK']);
const DEVICES = 10;
const VERSIONS = ['v1', 'v2', 'v3'];
/** Their images have no health check: what the engine executes for 60 containers each second would take both cores. */
const REPOSITORY = 'calm';
const NAMES = ['web', 'api', 'cache'];

const suite = engineSuite();

it('ten devices run exactly what git says after commits and kills of everything', async () => {
  const { real, registry } = suite();
  const next = randomNumbers();
  /** Returns a whole number from 0 to below `limit`. */
  const random = (limit: number): number => Math.floor(next() * limit);
  const pick = <T>(items: readonly T[]): T => items[random(items.length)] as T;
  for (const version of VERSIONS) registry.push(version, { version, health: null }, REPOSITORY);
  const foreign = await startForeign(suite());
  const fleet = await startFleet();
  const address = fleet.manager.address;
  const port = new URL(address).port;
  let apps = randomApps(random, registry);
  await fleet.apply(apps);

  const folders = await Promise.all(Array.from({ length: DEVICES }, () => temporaryFolder()));
  const all: TestWorker[] = [];
  const start = async (index: number): Promise<TestWorker> => {
    const worker = await startWorker({
      socket: real.socket,
      manager: address,
      data: folders[index] ?? '',
      env: {
        WORKER: `w${index}`,
        DEVICE_NAME: `device-${index}`,
        ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '3',
        LOG_LEVEL: 'info',
      },
    });
    all.push(worker);
    return worker;
  };
  const workers = await Promise.all(folders.map((_, index) => start(index)));

  const events: readonly (() => Promise<void>)[] = [
    async () => {
      apps = randomApps(random, registry);
      await fleet.apply(apps);
    },
    async () => void (await fleet.manager.request('POST', `/api/v2/apps/${pick(Object.keys(apps))}/restart`)),
    async () => {
      const index = random(DEVICES);
      await workers[index]?.kill();
      workers[index] = await start(index);
    },
    async () => {
      await real.kill();
      await sleep(random(3000));
      await real.start();
    },
    async () => {
      await fleet.manager.kill();
      await sleep(random(3000));
      await fleet.restart(port);
    },
    async () => {
      await registry.down();
      await sleep(random(3000));
      await registry.up();
    },
  ];
  const ids = new Map<string, number>();
  for (const end = Date.now() + SECONDS * 1000; Date.now() < end; ) {
    // Commits are half of what happens.
    await (random(2) === 0 ? (events[0] as () => Promise<void>) : pick(events))();
    await sleep(1000 + random(4000));
    for (const [index, worker] of workers.entries()) await checkIds(worker, index, ids);
  }

  const { headers } = await fleet.manager.request('GET', '/api/v2/device_groups/lab/info');
  for (const worker of workers) {
    const status = await worker.until(({ applied }) => applied === headers.get('etag'));
    expect(status.apps.map(({ name, image, error }) => ({ name, image, error }))).toEqual(
      Object.entries(apps).map(([name, { container_image: image }]) => ({ name, image, error: null })),
    );
  }
  await expectExactly(suite(), apps, foreign);
  // Every version is good: that a crash of the engine ends it is not its fault.
  const lines = all.flatMap((worker) => worker.process.output().split('\n'));
  expect(lines.filter((line) => line.includes('is taken back'))).toEqual([]);
});

type Apps = Record<string, { container_image: string; containers_per: { server: number } }>;

function randomApps(random: (limit: number) => number, registry: EngineSuite['registry']): Apps {
  const names = NAMES.filter(() => random(4) > 0);
  return Object.fromEntries(
    (names.length === 0 ? ['web'] : names).map((name) => {
      const tag = VERSIONS[random(VERSIONS.length)] ?? 'v1';
      return [
        name,
        { container_image: registry.reference(tag, REPOSITORY), containers_per: { server: 1 + random(2) } },
      ];
    }),
  );
}

/** A container of somebody else, which nobody may touch. Resolves to its id. */
async function startForeign({ engine, registry, real }: EngineSuite): Promise<string> {
  await engine.pull(registry.reference('plain'), new AbortController().signal);
  const body = { Image: registry.reference('plain'), Labels: { somebody: 'else' } };
  const { body: created } = await real.api('POST', '/containers/create?name=foreign', body);
  return (created as { Id: string }).Id;
}

/** No id that a device is served may fall. What it runs can: a version that a crash of the engine ends twice is taken back. */
async function checkIds(worker: TestWorker, index: number, ids: Map<string, number>): Promise<void> {
  const status = await worker.status();
  for (const { name, wanted_id: id } of status?.apps ?? []) {
    // An app that leaves.
    if (id === 0) continue;
    const key = `${index} ${name}`;
    expect(id).toBeGreaterThanOrEqual(ids.get(key) ?? 0);
    ids.set(key, id);
  }
}

async function expectExactly({ engine }: EngineSuite, apps: Apps, foreign: string): Promise<void> {
  const found = (await engine.containers()).map(({ name, state }) => `${name} ${state}`).sort();
  const wanted = Array.from({ length: DEVICES }, (_, index) =>
    Object.entries(apps).flatMap(
      ([
        name,
        {
          containers_per: { server },
        },
      ]) => Array.from({ length: server }, (__, slot) => `w${index}.${name}-${slot + 1} running`),
    ),
  ).flat();
  expect(found).toEqual([...wanted, 'foreign created'].sort());
  expect((await engine.containers()).find(({ name }) => name === 'foreign')?.id).toBe(foreign);
}
