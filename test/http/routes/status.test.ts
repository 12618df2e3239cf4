import { setImmediate } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { expect, it, onTestFinished } from 'vitest';
import type { Api } from '../../../src/http/api.ts';
import { statusRoutes } from '../../../src/http/routes/status.ts';
import { buildEngine, testReconciler, wrap } from '../../support/engine.ts';
import { SMALL_FLEET } from '../../support/manager.ts';

/**
 * Serves the status and the probes of a manager that has made no pass yet, on a store that has a fleet. `beforeRead` runs
 * before each read of the applied objects, `onState` after each read of the store's state.
 */
async function startProbes(beforeRead: () => Promise<void>, onState = () => {}): Promise<FastifyInstance> {
  const { source, store, reconciler } = await buildEngine({ files: SMALL_FLEET });
  await reconciler.start();
  const appliedObjects = async () => {
    await beforeRead();
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

it('/api/v2/status reads the applied objects once for concurrent and later requests', async () => {
  let [reads, waiting] = [0, 0];
  let finish: () => void = () => {};
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const beforeRead = () => {
    reads += 1;
    return slow;
  };
  const app = await startProbes(beforeRead, () => {
    waiting += 1;
  });
  const replies = [STATUS, STATUS, STATUS].map((url) => app.inject(url));
  await expect.poll(() => waiting).toBe(replies.length);
  await setImmediate();
  finish();
  expect((await Promise.all(replies)).map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
  expect((await app.inject(STATUS)).statusCode).toBe(200);
  expect(reads).toBe(1);
});

it('/api/v2/status is 503 while the applied objects cannot be read, and 200 once they can', async () => {
  let isBroken = true;
  const app = await startProbes(async () => {
    if (isBroken) JSON.parse('{"PASSWORD": hunter2}');
  });
  const reply = await app.inject(STATUS);
  expect([reply.statusCode, reply.json()]).toEqual([503, { api_available: false }]);
  isBroken = false;
  expect((await app.inject(STATUS)).statusCode).toBe(200);
});

it('/readyz does not read the applied objects', async () => {
  let reads = 0;
  const app = await startProbes(async () => {
    reads += 1;
  });
  expect((await app.inject('/readyz')).statusCode).toBe(200);
  expect(reads).toBe(0);
});
