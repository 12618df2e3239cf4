import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { FaultPoint } from '../../src/faults.ts';
import { isAsWanted, type WorkerStatus } from '../../src/worker/status/status.ts';
import {
  runs,
  startFleet,
  startWorker,
  type TestWorker,
  type WorkerOptions,
} from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { containersOf, makeForeign, runningIds, watch } from '../support/engine/world.ts';
import { ask } from '../support/real-engine.ts';

/** Steps of an update of two apps at which the worker is killed. With `HOLDFAST_TEST_RUNS=all`, each is tried. */
const SOME_STEPS = [1, 3, 5, 7, 9, 11, 13];
/** More than such an update has. */
const ALL_STEPS = Array.from({ length: 40 }, (_, index) => index + 1);

const STEPS = process.env['HOLDFAST_TEST_RUNS'] === 'all' ? ALL_STEPS : SOME_STEPS;

const POINTS: readonly FaultPoint[] = ['worker-step-begins', 'worker-step-done'];

function both(image: string): (status: WorkerStatus) => boolean {
  return (status) => isAsWanted(status) && runs('web', image)(status) && runs('api', image)(status);
}

describe('a worker on a real engine', () => {
  const suite = engineSuite();
  const apps = (tag: string): Record<string, object> => {
    const container_image = suite().registry.reference(tag);
    return {
      web: { container_image, starting_ports: [{ '28080': '80' }] },
      api: { container_image, containers_per: { server: 1 } },
    };
  };

  /** Starts an update that a kill interrupts, and ends it. Resolves to null if the update has no such step. */
  async function updateThrough(
    fault: string,
    tag: string,
    options: WorkerOptions,
  ): Promise<TestWorker | null> {
    const { real, registry } = suite();
    const isUpdated = (status: WorkerStatus): boolean =>
      both(registry.reference(tag))(status) && status.applied !== null;
    const history = await watch(real);
    const doomed = await startWorker({ ...options, env: { HOLDFAST_FAULT: fault } });
    const survived = await Promise.race([
      doomed.process.ended.then(() => false),
      doomed.until(isUpdated).then(
        () => true,
        () => true,
      ),
    ]);
    if (survived) return null;
    const worker = await startWorker(options);
    await worker.until(isUpdated);
    await expect
      .poll(async () => [...(await containersOf(real)).keys()])
      .toEqual(['api-1', 'foreign', 'web-1']);
    expect(await ask(28080)).toBe(tag);
    for (const app of ['api', 'web']) {
      const starts = history.count('start', ({ name }) => name.startsWith(`${app}-`));
      expect(starts, `${fault}\n${history.lines().join('\n')}`).toBeLessThanOrEqual(2);
    }
    return worker;
  }

  it.each(POINTS)(
    'that is killed at %s, at any step, ends its update when it is started again',
    async (point) => {
      const { real, registry } = suite();
      const fleet = await startFleet();
      await fleet.apply(apps('v1'));
      const options = { socket: real.socket, manager: fleet.manager.address };
      const first = await startWorker(options);
      await first.until(both(registry.reference('v1')));
      const foreign = await makeForeign(suite(), 'foreign');
      let worker = first;
      let passed = 0;
      let tag = 'v1';
      for (const step of STEPS) {
        await worker.kill();
        tag = tag === 'v1' ? 'v2' : 'v1';
        await fleet.apply(apps(tag));
        const next = await updateThrough(`${point}:${step}`, tag, { ...options, data: first.data });
        if (next === null) break;
        worker = next;
        passed++;
      }
      expect(passed).toBeGreaterThan(4);
      expect((await runningIds(real))['foreign']).toBe(foreign);
    },
  );

  it('brings all back after a crash of the engine, and takes nothing back because of it', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply(apps('v1'));
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(both(registry.reference('v1')));
    const before = await runningIds(real);
    await real.kill();
    await worker.until(({ problems }) => problems.some(({ code }) => code === 'engine-unavailable'));
    await real.start();
    await expect.poll(() => runningIds(real)).toEqual(before);
    await worker.until(both(registry.reference('v1')));
    expect(worker.process.output()).not.toContain('is taken back');
  });

  it('brings all back after a crash of the engine that it did not notice', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply(apps('v1'));
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(both(registry.reference('v1')));
    const before = await runningIds(real);
    worker.process.child.kill('SIGSTOP');
    await real.kill();
    await real.start();
    worker.process.child.kill('SIGCONT');
    await expect.poll(() => runningIds(real)).toEqual(before);
    await worker.until(both(registry.reference('v1')));
  });

  it.each([
    ['notices', false],
    ['does not notice', true],
  ])('ends an update whose gate a crash of the engine interrupts that it %s', async (_, isUnnoticed) => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    const plain = (tag: string): Record<string, object> => ({
      web: { container_image: registry.reference(tag), starting_ports: [{ '28080': '80' }] },
    });
    await fleet.apply(plain('v1'));
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(runs('web', registry.reference('v1')));
    await fleet.apply(plain('plain'));
    await worker.until(({ apps: [web] }) => web?.state === 'checking');
    await expect.poll(() => ask(28080)).toBe('plain');
    const { 'web-1': id } = await runningIds(real);
    if (isUnnoticed) worker.process.child.kill('SIGSTOP');
    await real.kill();
    if (!isUnnoticed)
      await worker.until(({ problems }) => problems.some(({ code }) => code === 'engine-unavailable'));
    await real.start();
    worker.process.child.kill('SIGCONT');
    await worker.until(runs('web', registry.reference('plain')));
    expect(await runningIds(real)).toEqual({ 'web-1': id });
    expect(worker.process.output()).not.toContain('is taken back');
  });

  it('recreates a container whose start a crash of the engine cut short', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply(apps('v1'));
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address });
    await worker.until(both(registry.reference('v1')));
    const { 'web-1': broken = '', 'api-1': whole } = await runningIds(real);
    await real.kill();
    await real.forgetStart(broken);
    await real.start();
    await expect.poll(async () => Object.keys(await runningIds(real)).sort()).toEqual(['api-1', 'web-1']);
    const { 'web-1': fresh, ...others } = await runningIds(real);
    expect(fresh).not.toBe(broken);
    expect(others).toEqual({ 'api-1': whole });
    expect(await ask(28080)).toBe('v1');
    expect(worker.process.output()).toContain('already in use');
  });

  it('runs what it ran last after a loss of power, without a network', async () => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply(apps('v1'));
    const options = { socket: real.socket, manager: fleet.manager.address };
    const worker = await startWorker(options);
    await worker.until((status) => both(registry.reference('v1'))(status) && status.applied !== null);
    const before = await runningIds(real);
    await worker.kill();
    await real.powerOff();
    await fleet.manager.kill();
    await registry.down();
    await real.start();
    const again = await startWorker({ ...options, data: worker.data });
    await expect.poll(() => runningIds(real)).toEqual(before);
    const status = await again.until((now) => both(registry.reference('v1'))(now));
    expect(status.manager.last_good_poll).toBeNull();
    await real.api('DELETE', '/containers/web-1?force=true');
    await expect.poll(() => ask(28080)).toBe('v1');
  });

  it.each([
    ['lost', (file: string) => rm(file)],
    ['torn', (file: string) => writeFile(file, '{"format":1,"reply":{"sou')],
  ])('restarts nothing when its memory is %s', async (_, spoil) => {
    const { real, registry } = suite();
    const fleet = await startFleet();
    await fleet.apply(apps('v1'));
    const options = { socket: real.socket, manager: fleet.manager.address };
    const worker = await startWorker(options);
    await worker.until(both(registry.reference('v1')));
    const before = await runningIds(real);
    await worker.kill();
    await spoil(join(worker.data, 'worker.json'));
    const history = await watch(real);
    const again = await startWorker({ ...options, data: worker.data });
    await again.until((status) => both(registry.reference('v1'))(status) && status.applied !== null);
    expect(await runningIds(real)).toEqual(before);
    expect(history.lines()).toEqual([]);
  });
});
