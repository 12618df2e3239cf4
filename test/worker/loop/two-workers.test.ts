import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { isHealthy } from '../../../src/worker/status/status.ts';
import {
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
const RIVAL = 'deadbeef';

const FIRST = answerOf(5, { web: [5, 'v1'] }, { groupId: 3 });
const SECOND = answerOf(6, { web: [6, 'v2'] }, { groupId: 4 });

async function runningDevice(settings = {}): Promise<{ manager: StandIn; worker: TestWorker }> {
  const manager = await startStandIn(FIRST);
  const worker = await startWorker({ manager: manager.address, engine: await startEngine(), settings });
  await until(worker.status, (seen) => seen?.applied === '"f1ee.5-x"');
  return { manager, worker };
}

/** Answers from now on as to a worker whose name another one holds. */
function contend(manager: StandIn, answer: typeof FIRST): void {
  manager.answer = { ...answer, headers: { ...answer.headers, 'holdfast-conflict': RIVAL } };
}

function isHeldBack(seen: Awaited<ReturnType<TestWorker['status']>>): boolean {
  return seen.problems.some(({ code }) => code === 'two-workers');
}

describe('a worker whose name another one holds', () => {
  it.each([
    ['a new reply', SECOND],
    ['a reply that it has already', FIRST],
  ])('acts on nothing and is silent after %s, until it has the name', TIME, async (_name, answer) => {
    const { manager, worker } = await runningDevice({ DEVICE_NAME: 'shop-17', REPORT_INTERVAL: '1' });
    const { id } = worker.engine.container('web-1');
    contend(manager, answer);
    const seen = await until(worker.status, isHeldBack);
    expect(isHealthy(seen)).toBe(false);
    expect(seen.problems[0]?.text).toContain(`instance ${RIVAL}`);
    expect(seen.problems[0]?.text).toContain('"shop-17"');
    await polls(manager, 1);
    const sent = manager.reports.length;
    await polls(manager, 5);
    expect(manager.reports).toHaveLength(sent);
    expect(worker.engine.container('web-1').id).toBe(id);
    expect(worker.log.filter(({ msg }) => String(msg).includes(RIVAL))).toHaveLength(1);
    manager.answer = SECOND;
    const later = await until(worker.status, ({ applied }) => applied === '"f1ee.6-x"');
    expect(later.problems).toEqual([]);
    expect(worker.engine.container('web-1').image.version).toBe('v2');
    await until(
      () => manager.reports.length,
      (count) => count > sent,
    );
  });

  it('still acts on nothing after a restart while the manager is away', TIME, async () => {
    const { manager, worker } = await runningDevice();
    contend(manager, SECOND);
    await until(worker.status, isHeldBack);
    await worker.stop();
    manager.answer = { status: 500, body: {} };
    const { engine, folder } = worker;
    const { body } = engine.container('web-1');
    engine.addContainer('web-2', { ...body, Labels: { ...body.Labels, 'holdfast.slot': '2' } });
    const again = await startWorker({ manager: manager.address, engine, folder });
    await until(again.status, (seen) => seen?.looked_at != null);
    await polls(manager, 2);
    expect(isHeldBack(await again.status())).toBe(true);
    expect(engine.names()).toEqual(['web-1', 'web-2']);
    manager.answer = FIRST;
    await until(
      () => engine.names(),
      (names) => names.length === 1,
    );
  });

  it('has the same instance after a restart, and another one without its folder', TIME, async () => {
    const { manager, worker } = await runningDevice();
    const { engine, folder } = worker;
    const instanceNow = () => manager.pollers.at(-1)?.instance;
    const first = instanceNow();
    expect(first).toMatch(/^[0-9a-f]{8}$/);
    await worker.stop();
    const again = await startWorker({ manager: manager.address, engine, folder });
    await polls(manager, 0);
    expect(instanceNow()).toBe(first);
    await again.stop();
    await rm(folder, { recursive: true });
    await startWorker({ manager: manager.address, engine, folder });
    await polls(manager, 0);
    expect(instanceNow()).not.toBe(first);
  });
});

describe('the name of a worker', () => {
  it.each([
    [{ WORKER: 'other' }, /^[^.]+\.other$/],
    [{ WORKER: 'other', DEVICE_NAME: 'till-1' }, /^till-1$/],
  ])('with %j is told with each poll', TIME, async (settings, name) => {
    const { manager } = await runningDevice(settings);
    expect(manager.pollers.every(({ device }) => name.test(String(device)))).toBe(true);
  });
});
