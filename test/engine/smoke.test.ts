import { describe, expect, it } from 'vitest';
import { containerSpec } from '../support/engine/spec.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { ask } from '../support/real-engine.ts';

describe('the client of a container engine', () => {
  const suite = engineSuite();

  it('pulls, creates and starts a container that answers, on a real Docker', async () => {
    const { engine, registry } = suite();
    const image = registry.reference('v1');
    await engine.pull(image, new AbortController().signal);
    const record = { container_image: image, starting_ports: [{ '28080': '80' }] };
    await engine.start(await engine.create(containerSpec(record)));
    await expect.poll(() => ask(28080)).toBe('v1');
  });
});
