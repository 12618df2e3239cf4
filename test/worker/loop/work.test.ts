import { describe, expect, it } from 'vitest';
import { startManager } from '../../support/manager.ts';
import { answerOf, polls, startEngine, startStandIn, startWorker, until } from './support.ts';

const TIME = { timeout: 90_000 };

describe('the ETag of a reply', () => {
  it('is sent last once its work is done, and not before', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    engine.registry.trouble('example.com/web:v1', 'down');
    const worker = await startWorker({ manager: manager.address, engine });
    await polls(manager, 2);
    expect(new Set(manager.tags)).toEqual(new Set(['', '"f1ee.5-x", "none"']));
    engine.registry.trouble('example.com/web:v1', null);
    await worker.post('/retry?app=web');
    await until(
      () => manager.tags.at(-1),
      (tag) => tag === '"f1ee.5-x"',
    );
    manager.answer = answerOf(6, { web: [6, 'sick'] });
    await until(worker.status, ({ apps }) => apps[0]?.state === 'rolled_back');
    await polls(manager, 2);
    expect(manager.tags.at(-1)).toBe('"f1ee.6-x", "f1ee.5-x"');
    expect((await worker.status()).applied).toBe('"f1ee.5-x"');
  });
});

describe('the metrics of a worker that runs', () => {
  it('count its polls, good and failed, and its pulls', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    const settings = { METRICS_PORT: '0' };
    const worker = await startWorker({ manager: manager.address, engine, settings });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    manager.answer = { status: 500, body: {} };
    await until(worker.status, ({ problems }) => problems.length > 0);
    const { port } = worker.log.find(({ msg }) => msg === 'metrics are served') ?? {};
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    expect(text).toMatch(/^holdfast_worker_polls_total\{result="good"\} [1-9]/m);
    expect(text).toMatch(/^holdfast_worker_polls_total\{result="failed"\} [1-9]/m);
    expect(text).toMatch(/^holdfast_worker_pulls_total\{result="good"\} 1$/m);
  });
});

describe('an engine that answers in part', () => {
  it('has its containers healed and stopped, while nothing is pulled or created', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'], api: [5, 'v1'] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    engine.fail(/GET \/images\/json/, { status: 500, message: 'layer does not exist' }, 1000);
    engine.exit('web-1', 1);
    manager.answer = answerOf(6, { web: [5, 'v1'], new: [6, 'v1'] }, { groupId: 2 });
    await until(engine.names, (names) => !names.includes('api-1'));
    await until(worker.status, ({ apps }) =>
      apps.some(({ name, state }) => name === 'web' && state === 'running'),
    );
    expect(engine.names()).toEqual(['web-1']);
    const seen = await worker.status();
    expect(seen.problems).toMatchObject([
      { code: 'engine-unavailable', text: expect.stringContaining('images') },
    ]);
    expect(seen.apps.find(({ name }) => name === 'new')?.error).toMatchObject({ code: 'engine-unavailable' });
  });

  it('has its containers stopped although the network cannot be created', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    const pools = 'could not find an available, non-overlapping IPv4 address pool';
    engine.fail(/POST \/networks\/create/, { status: 500, message: pools }, 1000);
    engine.networks.delete('nebula');
    manager.answer = answerOf(6, { other: [6, 'v1'] }, { groupId: 2 });
    await until(engine.names, (names) => !names.includes('web-1'));
    const { problems, apps } = await until(worker.status, (seen) => seen.problems.length > 0);
    expect(problems).toMatchObject([{ code: 'network-missing', text: expect.stringContaining(pools) }]);
    expect(apps.find(({ name }) => name === 'other')?.state).not.toBe('rolled_back');
  });
});

describe('a first version that crashes', () => {
  it('shows and reports the last lines of its container, those of the last crash', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1', { restart: 'no' }] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    engine.container('web-1').log.push('listening', 'fatal: no database');
    engine.exit('web-1', 1);
    const seen = await until(worker.status, ({ apps }) => apps[0]?.error?.log !== undefined);
    expect(seen.apps).toMatchObject([
      { state: 'failing', error: { code: 'crashed', log: ['listening', 'fatal: no database'] } },
    ]);
    const report = await until(
      () => manager.reports.at(-1) as { apps: { error: { log?: string[] } | null }[] } | undefined,
      // A report can be due between the look that finds the crash and the one that has read its log.
      (last) => last?.apps[0]?.error?.log !== undefined,
    );
    expect(report?.apps[0]?.error?.log).toEqual(['listening', 'fatal: no database']);
  });
});

describe('a worker whose engine goes away', () => {
  it('still shows what is wanted, and when it saw what runs', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    await engine.crash();
    const seen = await until(worker.status, (status) => status.worker.engine === null);
    expect(seen.apps).toMatchObject([{ wanted_id: 5, running_id: 5, wanted: 1, running: 1 }]);
    expect(seen.looked_at).toEqual(expect.any(Number));
    await engine.start();
    await until(worker.status, ({ apps, problems }) => apps[0]?.state === 'running' && problems.length === 0);
  });
});

describe('a worker whose disk has no room for an image', () => {
  it('removes the images that nothing uses one by one, and pulls again at once', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
    manager.answer = answerOf(6, { web: [6, 'v2'] });
    await until(worker.status, ({ applied }) => applied === '"f1ee.6-x"');
    engine.registry.push('example.com/web:v3', 'v3', { health: 'healthy' });
    engine.registry.trouble('example.com/web:v3', 'no-space');
    manager.answer = answerOf(7, { web: [7, 'v3'] });
    const pulls = (): number => engine.calls.filter((call) => call.startsWith('POST /images/create')).length;
    // v1 is not used any more, so it goes; v2 runs, and is kept.
    const seen = await until(worker.status, ({ problems }) => problems.length > 0);
    expect(pulls()).toBe(4);
    expect(engine.calls.filter((call) => call.startsWith('DELETE /images/'))).toHaveLength(1);
    expect(seen.problems).toMatchObject([{ code: 'disk-pressure', next_try: expect.any(Number) }]);
    expect(seen.apps).toMatchObject([{ state: 'kept', running_id: 6, error: { code: 'disk-pressure' } }]);
    expect(seen.apps[0]?.error?.next_try).not.toBeNull();
    expect(engine.container('web-1').image.version).toBe('v2');
  });
});

describe('a worker', () => {
  it('tries a version again that was taken back when somebody asks for it', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.apps[0]?.state === 'running');
    manager.answer = answerOf(6, { web: [6, 'sick'] });
    const seen = await until(worker.status, ({ apps }) => apps[0]?.state === 'rolled_back');
    expect(seen.apps).toMatchObject([{ wanted_id: 6, running_id: 5, error: { code: 'unhealthy' } }]);
    expect(engine.names()).toEqual(['web-1', 'web-1.failed']);
    engine.registry.push('example.com/web:sick', 'fixed', { health: 'healthy' });
    expect(await worker.post('/retry?app=web')).toBe(200);
    await until(worker.status, ({ applied }) => applied === '"f1ee.6-x"');
    expect(engine.names()).toEqual(['web-1']);
    expect(engine.container('web-1').image.version).toBe('fixed');
    expect(await worker.post('/retry?app=other')).toBe(404);
  });

  it('goes by content after forget-ids, whatever the ids are', TIME, async () => {
    const manager = await startStandIn(answerOf(50, { web: [50, 'v1'] }, { groupId: 30 }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.50-x"');
    const { id } = engine.container('web-1');
    manager.answer = answerOf(2, { web: [1, 'v1'], api: [1, 'v2'] }, { groupId: 1 });
    await until(worker.status, ({ problems }) => problems.some(({ code }) => code === 'ids-behind'));
    expect(await worker.post('/forget-ids')).toBe(200);
    const seen = await until(worker.status, ({ applied }) => applied === '"f1ee.2-x"');
    expect(seen.problems).toEqual([]);
    expect(engine.names()).toEqual(['api-1', 'web-1']);
    expect(engine.container('web-1')).toMatchObject({ id, starts: 1 });
  });

  it('goes by content when the manager is of another fleet', TIME, async () => {
    const manager = await startStandIn(answerOf(50, { web: [50, 'v1'], api: [50, 'v1'] }, { groupId: 30 }));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied === '"f1ee.50-x"');
    const { id } = engine.container('web-1');
    manager.answer = answerOf(1, { web: [1, 'v1'], api: [1, 'v2'] }, { groupId: 1, fleet: 'beef' });
    await until(worker.status, ({ applied }) => applied === '"beef.1-x"');
    expect(engine.container('web-1')).toMatchObject({ id, starts: 1 });
    expect(engine.container('api-1').image.version).toBe('v2');
  });

  it.each<[string, string | undefined, string | undefined]>([
    ['a proxy strips the ETag, and the list shrinks', '"f1ee.50-x"', undefined],
    ['a first ETag names the fleet, and the list shrinks', undefined, '"f1ee.51-x"'],
  ])('keeps its apps when %s without a higher id of the group', TIME, async (_, first, second) => {
    const tagged = (answer: ReturnType<typeof answerOf>, etag: string | undefined) => {
      const { etag: __, ...headers } = answer.headers ?? {};
      return { ...answer, headers: { ...headers, ...(etag !== undefined && { etag }) } };
    };
    const both = answerOf(50, { web: [50, 'v1'], api: [50, 'v1'] }, { groupId: 30 });
    const manager = await startStandIn(tagged(both, first));
    const engine = await startEngine();
    const worker = await startWorker({ manager: manager.address, engine });
    await until(worker.status, (seen) => seen?.applied != null);
    manager.answer = tagged(answerOf(51, { web: [50, 'v1'] }, { groupId: 30 }), second);
    const seen = await until(worker.status, ({ problems }) =>
      problems.some(({ code }) => code === 'bad-reply'),
    );
    expect(seen.problems).toMatchObject([
      { text: 'the app api left the group, but device_group_id did not rise' },
    ]);
    expect(engine.names()).toEqual(['api-1', 'web-1']);
    manager.answer = tagged(answerOf(52, { web: [50, 'v1'] }, { groupId: 31 }), 'W/"f1ee.52-x"');
    await until(worker.status, ({ applied }) => applied === '"f1ee.52-x"');
    expect(engine.names()).toEqual(['web-1']);
    expect(engine.container('web-1')).toMatchObject({ starts: 1 });
  });

  it('reports to a real manager what it does, and follows it', TIME, async () => {
    const manager = await startManager({
      files: {
        'apps/web.yaml': 'container_image: example.com/web:v1\n',
        'device-groups/edge.yaml': 'apps: [web]\n',
      },
      settings: { DEVICE_AUTH_USER: 'devices', DEVICE_AUTH_PASSWORD: 'only for devices', CACHE_TIME: '0' },
    });
    const engine = await startEngine();
    await startWorker({
      manager: manager.service.address,
      engine,
      settings: {
        DEVICE_NAME: 'shop-17',
        DEVICE_AUTH_USER: 'devices',
        DEVICE_AUTH_PASSWORD: 'only for devices',
      },
    });
    const reported = async (): Promise<string> => (await manager.get('/api/v2/reports?page_size=100')).text;
    const first = await until(reported, (all) => all.includes('"state":"running"'));
    expect(first).toContain('"hostname":"shop-17"');
    await manager.repository.commit(
      { 'desired-state/apps/web.yaml': 'container_image: example.com/web:sick\n' },
      'sick',
    );
    await manager.reconcile();
    const later = await until(reported, (all) => all.includes('"state":"rolled_back"'));
    expect(later).toContain('"code":"unhealthy"');
    expect(engine.container('web-1').image.version).toBe('v1');
  });
});

describe('what a worker shows', () => {
  it(
    'has the digest of what runs, and the containers of Nebula that nobody wants, which it leaves alone',
    TIME,
    async () => {
      const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
      const engine = await startEngine();
      const Labels = { orchestrator: 'nebula', app_name: 'old' };
      const { id } = engine.addContainer('old-1', { Labels });
      const own = { 'holdfast.app': 'web', 'holdfast.worker': 'main' };
      engine.addContainer('committed', { Labels: own });
      const worker = await startWorker({ manager: manager.address, engine });
      const seen = await until(worker.status, (status) => status?.apps[0]?.state === 'running');
      const digest = engine.registry.find('example.com/web', 'v1')?.digest;
      expect(seen.apps).toMatchObject([{ digest }]);
      expect(seen.problems).toMatchObject([
        { code: 'foreign-containers', text: expect.stringMatching(/old-1;.*committed$/), attempts: 0 },
      ]);
      expect(engine.container('old-1')).toMatchObject({ id, state: 'running', starts: 0 });
      await until(
        () => manager.reports.at(-1),
        (report) => JSON.stringify(report?.['apps'] ?? []).includes(`"digest":"${digest}"`),
      );
      manager.answer = answerOf(6, { web: [5, 'v1'], old: [6, 'v2'] }, { groupId: 2 });
      const later = await until(worker.status, ({ applied }) => applied === '"f1ee.6-x"');
      expect(later.problems).toMatchObject([
        { text: expect.stringMatching(/^these containers .*: committed$/) },
      ]);
      expect(engine.container('committed')).toMatchObject({ state: 'running', starts: 0 });
      expect(engine.container('old-1').image.version).toBe('v2');
    },
  );
});

describe('--once', () => {
  it('ends with 0 when all is as wanted', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const worker = await startWorker({ manager: manager.address, engine: await startEngine(), mode: 'once' });
    expect(await worker.ended).toBe(0);
    expect(worker.engine.container('web-1').state).toBe('running');
  });

  it('ends with 1 when an app cannot be as wanted', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'], api: [5, 'absent'] }));
    const worker = await startWorker({ manager: manager.address, engine: await startEngine(), mode: 'once' });
    expect(await worker.ended).toBe(1);
    expect(worker.engine.names()).toEqual(['web-1']);
  });

  it('ends with 3 when the manager is away', TIME, async () => {
    const worker = await startWorker({
      manager: 'http://127.0.0.1:9',
      engine: await startEngine(),
      mode: 'once',
    });
    expect(await worker.ended).toBe(3);
  });

  it('ends with 3 when the engine is away', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const engine = await startEngine();
    await engine.crash();
    const worker = await startWorker({ manager: manager.address, engine, mode: 'once' });
    expect(await worker.ended).toBe(3);
  });
});

describe('--dry-run', () => {
  it('shows what is to become of each app, and does nothing', TIME, async () => {
    const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }));
    const worker = await startWorker({
      manager: manager.address,
      engine: await startEngine(),
      mode: 'dry-run',
    });
    expect(await worker.ended).toBe(0);
    expect(worker.output()).toMatch(/web: pull .*web:v1, create 1 container \(id 5\)\nNothing was done/);
    expect(worker.engine.calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
  });
});
