import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { isAsWanted, isHealthy } from '../../../src/worker/status/status.ts';
import {
  type Answer,
  answerOf,
  polls,
  type StandIn,
  startEngine,
  startStandIn,
  startWorker,
  type TestWorker,
  until,
} from './support.ts';

const TIME = { timeout: 90_000 };

/** A device that runs `web` in version `v1`, whose work is done. */
async function runningDevice(
  settings: Record<string, string> = {},
): Promise<{ manager: StandIn; worker: TestWorker }> {
  const manager = await startStandIn(answerOf(5, { web: [5, 'v1'] }, { groupId: 3 }));
  const engine = await startEngine();
  engine.addContainer('db', {});
  const worker = await startWorker({ manager: manager.address, engine, settings });
  await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
  return { manager, worker };
}

const body = answerOf(6, { web: [6, 'v2'] }, { groupId: 4 }).body as Record<string, unknown>;

/** The text of a good reply with a member that is nested so deep that walking through it takes all of a stack. */
function nested(value: object, member: string): string {
  const depth = 50_000;
  const text = JSON.stringify({ ...value, [member]: 0 });
  return text.replace(`"${member}":0`, `"${member}":${'['.repeat(depth)}${']'.repeat(depth)}`);
}

const NONSENSE: Record<string, [answer: Answer, code: string]> = {
  'a page of a captive portal': [{ text: '<html>log in</html>' }, 'bad-reply'],
  'half a reply': [{ text: JSON.stringify(body).slice(0, 80) }, 'bad-reply'],
  'an empty object': [{ body: {} }, 'bad-reply'],
  'a list of apps that is not that of the apps': [{ body: { ...body, apps_list: [] } }, 'bad-reply'],
  'a reply for another group': [
    { body, headers: { etag: '"f1ee.6-x"', 'holdfast-device-group': 'shops' } },
    'bad-reply',
  ],
  'a member that is nested too deep': [{ text: nested(body, 'extra') }, 'bad-reply'],
  'an older id of the group': [answerOf(6, {}, { groupId: 2 }), 'ids-behind'],
  'a list without the app, but no higher id': [answerOf(6, {}, { groupId: 3 }), 'bad-reply'],
  'a refusal': [{ status: 401, body: {} }, 'manager-unavailable'],
  'a failure': [{ status: 500, body: {} }, 'manager-unavailable'],
  'a refusal that does not say that the group is gone': [
    { status: 403, body: { device_group_exists: true } },
    'manager-unavailable',
  ],
};

describe('a worker whose manager answers with', () => {
  it.each(Object.entries(NONSENSE))(
    '%s leaves its containers alone, and says so',
    TIME,
    async (_name, [answer, code]) => {
      const { manager, worker } = await runningDevice();
      const { id, starts } = worker.engine.container('web-1');
      manager.answer = answer;
      const seen = await until(worker.status, ({ problems }) => problems.some((one) => one.code === code));
      expect(seen.manager.error).not.toBeNull();
      await polls(manager, 0);
      expect(worker.engine.container('web-1')).toMatchObject({ id, starts, state: 'running' });
      expect(worker.engine.names()).toEqual(['db', 'web-1']);
    },
  );

  it('something good again after a failure follows it', TIME, async () => {
    const { manager, worker } = await runningDevice();
    manager.answer = { status: 500, body: {} };
    await until(worker.status, ({ problems }) => problems.length > 0);
    manager.answer = answerOf(7, { web: [7, 'v2'] }, { groupId: 4 });
    const later = await until(worker.status, ({ applied }) => applied === '"f1ee.7-x"');
    expect(later.problems).toEqual([]);
    expect(worker.engine.container('web-1').image.version).toBe('v2');
  });

  it.each([
    ['true', true],
    ['false', false],
  ])('refusals for three intervals is lost if HEALTH_NEEDS_MANAGER is %s', TIME, async (setting, isLost) => {
    const { manager, worker } = await runningDevice({ HEALTH_NEEDS_MANAGER: setting });
    expect((await worker.status()).manager.is_lost).toBe(false);
    manager.answer = { status: 401, body: {} };
    const { error } = (await until(worker.status, (seen) => seen.manager.error !== null)).manager;
    expect(error).toContain('401');
    if (isLost) await until(worker.status, (seen) => seen.manager.is_lost);
    else await polls(manager, 2);
    const seen = await worker.status();
    expect(seen.manager.is_lost).toBe(isLost);
    expect([isAsWanted(seen), isHealthy(seen)]).toEqual([true, !isLost]);
    manager.answer = answerOf(5, { web: [5, 'v1'] }, { groupId: 3 });
    await worker.post('/retry?app=web');
    await until(worker.status, ({ manager: { is_lost, error: last } }) => !is_lost && last === null);
  });

  it('ids of an app that fell keeps the app as it is, and says so', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { id } = worker.engine.container('web-1');
    manager.answer = answerOf(6, { web: [4, 'v2'] }, { groupId: 3 });
    const seen = await until(worker.status, ({ apps }) => apps[0]?.error?.code === 'ids-behind');
    expect(seen).toMatchObject({ applied: '"f1ee.5-x"', apps: [{ running_id: 5 }] });
    expect(worker.engine.container('web-1').id).toBe(id);
  });

  it('other content without a higher id keeps the app as it is, and says so', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { id } = worker.engine.container('web-1');
    manager.answer = answerOf(6, { web: [5, 'v2'] }, { groupId: 3 });
    const seen = await until(worker.status, ({ apps }) => apps[0]?.error?.code === 'content-without-id');
    expect(seen).toMatchObject({ applied: '"f1ee.5-x"', apps: [{ state: 'kept' }] });
    expect(worker.engine.container('web-1').id).toBe(id);
  });

  it('one invalid app does the others', TIME, async () => {
    const { manager, worker } = await runningDevice();
    manager.answer = answerOf(
      6,
      { web: [6, 'v2', { starting_ports: ['x'] }], api: [6, 'v2'] },
      { groupId: 4 },
    );
    const seen = await until(worker.status, ({ apps }) => apps[1]?.state === 'running');
    expect(seen.apps[0]).toMatchObject({ name: 'web', state: 'kept', error: { code: 'invalid-app' } });
    expect(worker.engine.container('web-1').image.version).toBe('v1');
    expect(seen.applied).toBe('"f1ee.5-x"');
  });

  it('the same as before still heals', TIME, async () => {
    const { manager, worker } = await runningDevice();
    await polls(manager, 1);
    const { id } = worker.engine.container('web-1');
    await removeByHand(worker, 'web-1');
    await until(
      worker.status,
      ({ containers: [web], apps }) => web?.name === 'web-1' && web.id !== id && apps[0]?.state === 'running',
    );
    expect(worker.engine.calls.filter((call) => call.startsWith('POST /images/create'))).toHaveLength(1);
  });
});

/** Removes a container as somebody at the device does. */
async function removeByHand({ engine }: TestWorker, name: string): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    request(
      { socketPath: engine.socket, method: 'DELETE', path: `/containers/${name}?force=true` },
      (response) => response.resume().once('end', resolve),
    )
      .once('error', reject)
      .end(),
  );
}

describe('a device group that is gone', () => {
  const gone: Answer = { status: 403, body: { device_group_exists: false } };

  it('stops its apps after two answers, but no others', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const before = manager.tags.length;
    manager.answer = gone;
    await until(
      () => worker.engine.names(),
      (names) => !names.includes('web-1'),
    );
    expect(manager.tags.length - before).toBeGreaterThanOrEqual(2);
    expect(worker.engine.names()).toEqual(['db']);
    manager.answer = answerOf(9, { web: [9, 'v1'] }, { groupId: 9 });
    const seen = await until(worker.status, ({ applied }) => applied === '"f1ee.9-x"');
    expect(seen.problems).toEqual([]);
  });

  it('stops nothing if it is back in between', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { answer } = manager;
    for (let turn = 0; turn < 3; turn++) {
      manager.answer = gone;
      await polls(manager, 0);
      manager.answer = answer;
      await polls(manager, 0);
    }
    expect(worker.engine.container('web-1')).toMatchObject({ state: 'running', starts: 1 });
  });

  it('stops nothing if ON_GROUP_GONE is keep', TIME, async () => {
    const { manager, worker } = await runningDevice({ ON_GROUP_GONE: 'keep' });
    manager.answer = gone;
    await polls(manager, 4);
    expect(worker.engine.container('web-1')).toMatchObject({ state: 'running', starts: 1 });
    expect((await worker.status()).problems).toMatchObject([{ code: 'group-gone' }]);
  });
});

describe('a worker that is stopped', () => {
  it('keeps the name of its machine, although the engine is down when it starts again', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { hostname } = await worker.status();
    await worker.stop();
    const { engine, folder } = worker;
    await engine.crash();
    const next = await startWorker({ manager: manager.address, engine, folder });
    const seen = await until(next.status, (status) => (status?.problems.length ?? 0) > 0);
    expect(seen).toMatchObject({ hostname, problems: [{ code: 'engine-unavailable' }] });
    expect(hostname).not.toBe('unknown');
  });

  it('leaves its containers running, and the next one takes them over without a restart', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { id } = worker.engine.container('web-1');
    expect(await worker.stop()).toBe(0);
    const { engine, folder } = worker;
    const next = await startWorker({ manager: manager.address, engine, folder });
    await until(next.status, (seen) => seen?.apps[0]?.state === 'running');
    await polls(manager, 1);
    expect(engine.container('web-1')).toMatchObject({ id, state: 'running', starts: 1 });
    expect(manager.tags.at(-1)).toBe('"f1ee.5-x"');
  });

  it('runs its last state without a manager', TIME, async () => {
    const { worker } = await runningDevice();
    await worker.stop();
    const { engine, folder } = worker;
    engine.exit('web-1', 1);
    await startWorker({ manager: 'http://127.0.0.1:9', engine, folder });
    await until(
      () => engine.container('web-1').state,
      (state) => state === 'running',
    );
  });
});
