import { afterAll, beforeAll, beforeEach } from 'vitest';
import { ENGINE_LIMITS, engineAt } from '../../../src/worker/engine/client.ts';
import type { Engine, EngineLimits } from '../../../src/worker/engine/engine.ts';
import { type RealEngine, type RealEngineOptions, startRealEngine } from '../real-engine.ts';
import { type Registry, startRegistry } from './registry.ts';

/** What the tests of one file share: a real engine, a registry, and a client. */
export interface EngineSuite {
  real: RealEngine;
  registry: Registry;
  engine: Engine;
}

/**
 * Starts an engine and a registry for all tests of a file, and returns a function that returns them. Before each test,
 * when the processes of the one before are gone, all containers and images are removed, and the registry behaves again.
 */
export function engineSuite(
  options: Omit<RealEngineOptions, 'whenDone'> & { limits?: Partial<EngineLimits> } = {},
): () => EngineSuite {
  const ends: (() => Promise<void>)[] = [];
  const whenDone = (end: () => Promise<void>): void => void ends.push(end);
  let suite: EngineSuite | undefined;
  const started = (): EngineSuite => {
    if (suite === undefined) throw new Error('the engine of this file did not start');
    return suite;
  };
  beforeAll(async () => {
    const registry = await startRegistry(whenDone);
    const real = await startRealEngine({ ...options, whenDone });
    const credentials = { fixed: null, dockerConfig: null, env: {} };
    suite = {
      registry,
      real,
      engine: engineAt(real.socket, { credentials, limits: { ...ENGINE_LIMITS, ...options.limits } }),
    };
  });
  beforeEach(async () => {
    const { registry, real } = started();
    await registry.reset();
    await real.clear();
  });
  afterAll(async () => {
    for (const end of ends.reverse()) await end();
  });
  return started;
}
