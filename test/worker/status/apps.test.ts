import { describe, expect, it } from 'vitest';
import type { AppRecord } from '../../../src/protocol/info.ts';
import { isDone, reportedApps } from '../../../src/worker/status/apps.ts';
import { isAppAsWanted } from '../../../src/worker/status/status.ts';
import { record, Simulation, wanted } from '../plan/simulation.ts';

/** What the status is made from once a device runs an app. */
function inputOf(fields: Partial<AppRecord>) {
  const device = new Simulation();
  device.wanted = wanted([record('web', 1, fields)]);
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

  it('is not done with a reply that came since the last look, and changed the content without a higher id', () => {
    const input = inputOf({});
    const later = { ...input, wanted: wanted([record('web', 1, { container_image: 'web:v2' })]) };
    expect([isDone(input), isDone(later)]).toEqual([true, false]);
  });

  it('is failing, without another try, if a container failed that is never started again', () => {
    const [app] = reportedApps(inputOf({ container_image: 'web:crash', restart: 'no' }));
    expect(app).toMatchObject({ state: 'failing', running: 0, error: { code: 'crashed' } });
  });
});
