import { afterAll, beforeAll, beforeEach } from 'vitest';
import { type ManagerOptions, startManager, type TestManager } from './manager.ts';

/**
 * Starts one manager for all tests of the `describe` block that calls this, and returns a function that returns it. It
 * stops after the last test. For rows that do not disturb each other. `prepare` runs once the manager has started.
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
  // A retry gets a new manager, since changes of the failed try could let it pass.
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
