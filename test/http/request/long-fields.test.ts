import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../../support/manager.ts';
import { suiteManager } from '../../support/suite.ts';

/** Milliseconds of processor time that this process, which is client and manager, takes for a task. */
async function costOf(task: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('a body with as many names as it has room for', () => {
  const manager = suiteManager({ files: SMALL_FLEET, logLevel: 'silent' });
  const names = Array.from({ length: 100_000 }, (_, index) => `a${100_000 + index}`);

  it('is refused at the price of a few requests, and with every name that is unknown', async () => {
    const update = () => manager().put('/api/v2/device_groups/edge/update', { apps: ['web', ...names] });
    const { status, body } = await update();
    expect([status, body.apps]).toEqual([403, names]);
    const [few, many] = [await costOf(() => manager().get('/api/v2/apps/web')), await costOf(update)];
    expect(many).toBeLessThan(few + 600);
  });
});
