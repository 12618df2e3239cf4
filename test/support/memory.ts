/**
 * Keeps the test processes small: a fork takes as long as its process is large, and tests start tens of thousands of
 * processes. V8 alone collects late, since it does not count what SQLite keeps for the statements of closed databases.
 */
import { setImmediate } from 'node:timers/promises';
import { afterEach } from 'vitest';

/** Bytes that the process may grow between two collections. */
const GROWTH = 16 * 1024 * 1024;

let afterCollection = process.memoryUsage.rss();

afterEach(async () => {
  if (process.memoryUsage.rss() - afterCollection < GROWTH) return;
  globalThis.gc?.();
  await setImmediate();
  afterCollection = process.memoryUsage.rss();
});
