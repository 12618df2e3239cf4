import { afterAll, beforeAll, beforeEach } from 'vitest';
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
  const start = async (): Promise<void> => {
    manager = await startManager({ ...options, whenDone: (end) => void ends.push(end) });
    await prepare(manager);
  };
  const end = async (): Promise<void> => {
    for (const one of ends.splice(0).reverse()) await one();
  };
  beforeAll(start);
  // What a failed try has changed could let the next one pass.
  beforeEach(async ({ task }) => {
    if ((task.result?.retryCount ?? 0) === 0) return;
    await end();
    await start();
  });
  afterAll(end);
  return () => {
    if (manager === undefined) throw new Error('the manager of this block did not start');
    return manager;
  };
}
