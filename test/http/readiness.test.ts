import { setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { Api } from '../../src/http/api.ts';
import { statusRoutes } from '../../src/http/routes/status.ts';
import { buildEngine, testReconciler, wrap } from '../support/engine.ts';
import { SMALL_FLEET } from '../support/manager.ts';

/**
 * Probes of a manager that has not looked yet, on a store that has a fleet. `read` stands before each look at what that
 * holds; `onState` is told when a probe has its state.
 */
async function startProbes(read: () => Promise<void>, onState = () => {}): Promise<FastifyInstance> {
  const { source, store, reconciler } = await buildEngine({ files: SMALL_FLEET });
  await reconciler.start();
  const appliedObjects = async () => {
    await read();
    return store.appliedObjects();
  };
  const state = () => store.state().finally(onState);
  const app = Fastify();
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => JSON.stringify);
  const fresh = testReconciler({ source, store });
  statusRoutes(app, {
    store: wrap(store, { appliedObjects, state }),
    reconciler: fresh,
  } as Partial<Api> as Api);
  onTestFinished(() => app.close());
  return app;
}

const PROBES = ['/readyz', '/api/v2/status', '/readyz', '/api/v2/status', '/readyz'];

it('probes that come while the store is slow wait for one look at what it holds, and none looks again', async () => {
  let [looks, asked] = [0, 0];
  let finish: () => void = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const read = () => {
    looks += 1;
    return slow;
  };
  const app = await startProbes(read, () => {
    asked += 1;
  });
  const replies = PROBES.map((url) => app.inject(url));
  await expect.poll(() => asked).toBe(PROBES.length);
  await setImmediate();
  finish();
  expect((await Promise.all(replies)).map(({ statusCode }) => statusCode)).toEqual(PROBES.map(() => 200));
  expect((await app.inject('/readyz')).statusCode).toBe(200);
  expect(looks).toBe(1);
});

it('a look that failed is made again, and nothing of what it could not read is told', async () => {
  let isBroken = true;
  const app = await startProbes(async () => {
    if (isBroken) JSON.parse('{"PASSWORD": hunter2}');
  });
  const reply = await app.inject('/readyz');
  const reason = 'what was applied cannot be read from the store';
  expect([reply.statusCode, reply.json()]).toEqual([503, { status: 'unavailable', reason }]);
  expect((await app.inject('/api/v2/status')).statusCode).toBe(503);
  isBroken = false;
  expect((await app.inject('/readyz')).statusCode).toBe(200);
});
