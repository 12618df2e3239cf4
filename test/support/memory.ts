/**
 * Runs before each test file: collects garbage between tests, which keeps the test process small. The time of a fork
 * grows with the process, and tests start tens of thousands of processes. V8 itself collects late, since it does not
 * count the memory that SQLite holds for statements of closed databases.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach } from 'vitest';

/** Growth in bytes after which the next collection is due. */
const GROWTH = 16 * 1024 * 1024;

let afterCollection = process.memoryUsage.rss();

afterEach(async () => {
  if (process.memoryUsage.rss() - afterCollection < GROWTH) return;
  globalThis.gc?.();
  await setImmediate();
  afterCollection = process.memoryUsage.rss();
});
