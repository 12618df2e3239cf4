import { executionAsyncResource } from 'node:async_hooks';

/**
 * Keeps the objects in the queue of `process.nextTick` at one hidden class (V8's "shape"), by keeping one of these
 * objects alive until the process ends.
 *
 * V8 drops a shape after a few collections that found no object of it, and makes a new one for the next object. The
 * literal in `nextTick` has computed keys, and code that has met two shapes there stays slow: a tick then costs five to
 * six times as much (measured with Node 20.20, 22.23 and 24.21). A reply needs several ticks: a fifth fewer were sent a
 * second.
 */
export function keepShapeOfTicks(): void {
  process.nextTick(() => {
    const tick = executionAsyncResource();
    process.once('exit', () => void tick);
  });
}
