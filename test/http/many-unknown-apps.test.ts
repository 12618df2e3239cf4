import { describe, expect, it } from 'vitest';
import { SMALL_FLEET } from '../support/manager.ts';
import { suiteManager } from '../support/suite.ts';

/** Milliseconds of processor time that this process, which is client and manager, takes for a task. */
async function costOf(task: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

describe('an update of a group with 20,000 unknown apps', () => {
  const manager = suiteManager({ files: SMALL_FLEET, logLevel: 'silent' });
  const names = Array.from({ length: 20_000 }, (_, index) => `a${10_000 + index}`);

  it('is refused with every unknown name, and costs little more processor time than a read', async () => {
    const update = () => manager().put('/api/v2/device_groups/edge/update', { apps: ['web', ...names] });
    const { status, body } = await update();
    expect([status, body.apps]).toEqual([403, names]);
    const read = await costOf(() => manager().get('/api/v2/apps/web'));
    expect(await costOf(update)).toBeLessThan(read + 200);
  });
});
