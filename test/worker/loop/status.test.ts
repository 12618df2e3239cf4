import { describe, expect, it } from 'vitest';
import type { AppRecord } from '../../../src/protocol/info.ts';
import { isDone, reportedApps } from '../../../src/worker/loop/status.ts';
import { contentsOf } from '../../../src/worker/plan/content.ts';
import { isAppAsWanted } from '../../../src/worker/status.ts';
import { record, Simulation, wanted } from '../plan/simulation.ts';

/** What the status is made from once a device runs an app. */
function inputOf(fields: Partial<AppRecord>, isOfOlderWorker = false) {
  const device = new Simulation();
  device.wanted = wanted([record('web', 1, fields)]);
  device.settle();
  const label = contentsOf(record('web', 1, fields)).at(-1) ?? '';
  if (isOfOlderWorker) for (const { container } of device.machine.values()) container.content = label;
  device.settle();
  const { memory, session, now } = device;
  return {
    wanted: device.wanted,
    actual: device.actual(),
    memory: { ...memory, pruneId: 1 },
    session,
    linesOf: () => [],
    now,
    wallTime: now,
  };
}

describe('the status of an app', () => {
  it('warns that its containers lack fields which the worker that made them did not know', () => {
    const input = inputOf({ memory: '64m', init: true, pull_policy: 'missing' }, true);
    const [app] = reportedApps(input);
    expect(app).toMatchObject({
      state: 'running',
      running: 1,
      error: { code: 'waits-for-restart', attempts: 0, next_try: null },
    });
    expect(app?.error?.text).toContain('did not know memory, init;');
    expect([isAppAsWanted(app!), isDone(input)]).toEqual([true, true]);
  });

  it.each<[string, Partial<AppRecord>, boolean]>([
    ['of this worker', { memory: '64m' }, false],
    ['of an older worker, if the app has no newer fields', { env_vars: { A: '1' } }, true],
  ])('does not warn of containers %s', (_, fields, isOfOlderWorker) => {
    expect(reportedApps(inputOf(fields, isOfOlderWorker))).toMatchObject([{ error: null }]);
  });

  it('counts a container that ended well as running, if its app lets it end', () => {
    const [app] = reportedApps(inputOf({ container_image: 'web:job', restart: 'on-failure' }));
    expect(app).toMatchObject({ state: 'running', wanted: 1, running: 1, running_id: 1, error: null });
    expect(isAppAsWanted(app!)).toBe(true);
  });

  it('is as wanted, with a warning, while what is left of an earlier version cannot be removed', () => {
    const device = new Simulation();
    device.wanted = wanted([record('web', 1)]);
    device.settle();
    device.wanted = wanted([record('web', 2, { container_image: 'web:v2' })]);
    device.settle(60, (step) => step.do === 'remove');
    const input = { ...inputOf({}), wanted: device.wanted, actual: device.actual(), session: device.session };
    const [app] = reportedApps({ ...input, memory: { ...device.memory, pruneId: 1 } });
    expect(app).toMatchObject({ state: 'running', error: { code: 'change-failed' } });
    expect(isAppAsWanted(app!)).toBe(true);
    expect(isDone({ ...input, memory: { ...device.memory, pruneId: 1 } })).toBe(true);
  });

  it('is failing, without another try, if a container failed that is never started again', () => {
    const [app] = reportedApps(inputOf({ container_image: 'web:crash', restart: 'no' }));
    expect(app).toMatchObject({ state: 'failing', running: 0, error: { code: 'crashed' } });
  });
});
