import { setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { Api } from '../../../src/http/api.ts';
import { statusRoutes } from '../../../src/http/routes/status.ts';
import { buildEngine, testReconciler, wrap } from '../../support/engine.ts';
import { SMALL_FLEET } from '../../support/manager.ts';

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

const STATUS = '/api/v2/status';

it('workers that ask while the store is slow wait for one look at what it holds, and none looks again', async () => {
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
  const replies = [STATUS, STATUS, STATUS].map((url) => app.inject(url));
  await expect.poll(() => asked).toBe(replies.length);
  await setImmediate();
  finish();
  expect((await Promise.all(replies)).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  expect((await app.inject(STATUS)).statusCode).toBe(200);
  expect(looks).toBe(1);
});

it('a look that failed is made again', async () => {
  let isBroken = true;
  const app = await startProbes(async () => {
    if (isBroken) JSON.parse('{"PASSWORD": hunter2}');
  });
  const reply = await app.inject(STATUS);
  expect([reply.statusCode, reply.json()]).toEqual([503, { api_available: false }]);
  isBroken = false;
  expect((await app.inject(STATUS)).statusCode).toBe(200);
});

it('a probe does not read what the store holds', async () => {
  let looks = 0;
  const app = await startProbes(async () => {
    looks += 1;
  });
  expect((await app.inject('/readyz')).statusCode).toBe(200);
  expect(looks).toBe(0);
});
