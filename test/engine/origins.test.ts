import { describe, expect, it } from 'vitest';
import { isAsWanted } from '../../src/worker/status/status.ts';
import { runs, startFleet, startWorker, type TestFleet, type TestWorker } from '../support/engine/fleet.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { runningIds, watch } from '../support/engine/world.ts';

describe('a worker on a real engine', () => {
  const suite = engineSuite();
  const app = (tag: string): object => ({ container_image: suite().registry.reference(tag) });

  /** A fleet whose apps were changed several times, so that their ids are high. */
  async function oldFleet(): Promise<TestFleet> {
    const fleet = await startFleet();
    for (const tag of ['v3', 'v2', 'v1'])
      await fleet.apply({ same: app(tag), other: app(tag), gone: app(tag) });
    return fleet;
  }

  async function startOn(fleet: TestFleet): Promise<TestWorker> {
    const worker = await startWorker({ socket: suite().real.socket, manager: fleet.manager.address });
    await worker.until((status) => isAsWanted(status) && status.applied !== null);
    return worker;
  }

  it('goes by content when it is pointed at another fleet, and by ids again from then on', async () => {
    const { real, registry } = suite();
    const fleet = await oldFleet();
    const worker = await startOn(fleet);
    const before = await runningIds(real);
    await worker.kill();
    const { port } = new URL(fleet.manager.address);
    await fleet.manager.kill();
    const history = await watch(real);
    const other = await startFleet(port);
    await other.apply({ same: app('v1'), other: app('v2') });
    const again = await startWorker({
      socket: real.socket,
      manager: other.manager.address,
      data: worker.data,
    });
    await again.until(
      ({ applied, apps }) =>
        applied !== null && apps.length === 2 && apps.every(({ error }) => error === null),
    );
    await again.until(runs('other', registry.reference('v2')));
    await expect.poll(async () => Object.keys(await runningIds(real))).toEqual(['other-1', 'same-1']);
    expect((await runningIds(real))['same-1']).toBe(before['same-1']);
    expect(history.count('start')).toBe(1);
    await other.manager.request('POST', '/api/v2/apps/same/restart');
    await expect.poll(() => history.count('start', ({ name }) => name.startsWith('same-'))).toBe(1);
    await again.until((status) => isAsWanted(status) && runs('same', registry.reference('v1'))(status));
    expect((await runningIds(real))['same-1']).not.toBe(before['same-1']);
    expect(history.count('start')).toBe(2);
  });

  it('goes by content when it is put into another group', async () => {
    const { real, registry } = suite();
    const fleet = await oldFleet();
    const worker = await startOn(fleet);
    const before = await runningIds(real);
    await worker.kill();
    await fleet.repository.commit({
      'desired-state/device-groups/shop.yaml': '{"apps":["gone","fresh"]}',
      'desired-state/apps/fresh.yaml': JSON.stringify(app('v2')),
    });
    await fleet.manager.request('POST', '/api/v2/reconcile');
    const history = await watch(real);
    const options = { socket: real.socket, manager: fleet.manager.address, data: worker.data };
    const again = await startWorker({ ...options, group: 'shop' });
    await again.until(runs('fresh', registry.reference('v2')));
    await expect.poll(async () => Object.keys(await runningIds(real))).toEqual(['fresh-1', 'gone-1']);
    expect((await runningIds(real))['gone-1']).toBe(before['gone-1']);
    expect(history.count('start')).toBe(1);
  });

  it('stops the apps of a group that is gone only after the manager said so twice', async () => {
    const { real } = suite();
    const fleet = await oldFleet();
    const worker = await startOn(fleet);
    await fleet.repository.commit({ 'desired-state/device-groups/lab.yaml': null });
    await fleet.manager.request('POST', '/api/v2/reconcile');
    const status = await worker.until(({ problems }) => problems.some(({ code }) => code === 'group-gone'));
    expect(status.problems[0]?.text).toContain('asking again');
    expect(Object.keys(await runningIds(real))).toHaveLength(3);
    await expect.poll(() => runningIds(real)).toEqual({});
    await fleet.apply({ same: app('v1') });
    await worker.until(({ apps }) => apps.some(({ state }) => state === 'running'));
    expect(Object.keys(await runningIds(real))).toEqual(['same-1']);
  });

  it('keeps the apps of a group that is gone with ON_GROUP_GONE=keep', async () => {
    const { real } = suite();
    const fleet = await oldFleet();
    const env = { ON_GROUP_GONE: 'keep' };
    const worker = await startWorker({ socket: real.socket, manager: fleet.manager.address, env });
    await worker.until((status) => isAsWanted(status) && status.applied !== null);
    const before = await runningIds(real);
    const history = await watch(real);
    await fleet.repository.commit({ 'desired-state/device-groups/lab.yaml': null });
    await fleet.manager.request('POST', '/api/v2/reconcile');
    const lastPoll = (
      await worker.until(({ problems }) => problems.some(({ code }) => code === 'group-gone'))
    ).manager.next_poll;
    await worker.until(({ manager }) => (manager.next_poll ?? 0) > (lastPoll ?? 0) + 4);
    expect(await runningIds(real)).toEqual(before);
    expect(history.lines()).toEqual([]);
  });
});
