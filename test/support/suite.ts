import { afterAll, beforeAll } from 'vitest';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';

/**
 * One manager for all tests of a `describe` block, started before the first and ended after the last. For rows that
 * do not disturb each other. `prepare` runs once the manager is there.
 */
export function suiteManager(
  options: Omit<ManagerOptions, 'whenDone'> = {},
  prepare: (manager: TestManager) => Promise<unknown> = async () => undefined,
): () => TestManager {
  const ends: (() => Promise<void>)[] = [];
  let manager: TestManager | undefined;
  beforeAll(async () => {
    manager = await startManager({ ...options, whenDone: (end) => void ends.push(end) });
    await prepare(manager);
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return () => {
    if (manager === undefined) throw new Error('the manager of this block did not start');
    return manager;
  };
}
