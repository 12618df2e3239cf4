import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { engineAt } from '../../src/worker/engine/client.ts';
import type { EngineErrorCode } from '../../src/worker/engine/engine.ts';
import type { Trouble } from '../support/engine/registry.ts';
import { containerSpec } from '../support/engine/spec.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { temporaryFolder } from '../support/folder.ts';
import { ask } from '../support/real-engine.ts';

/** Docker pauses for 5 seconds before it loads a layer again, and for 10 seconds after that. */
const limits = { pullIdle: 7 };
const never = new AbortController().signal;

describe('a pull by a real Docker', () => {
  const suite = engineSuite({ size: '64m', limits });

  const failing: Record<string, { trouble: Trouble; code: EngineErrorCode; message?: RegExp }> = {
    'is cut off in each layer': { trouble: 'blob-truncated', code: 'refused', message: /EOF/ },
    'gets a layer with a wrong byte': {
      trouble: 'blob-corrupt',
      code: 'refused',
      message: /verification failed/,
    },
    'gets no byte any more': { trouble: 'blob-hangs', code: 'timeout' },
    'gets a kilobyte a second': { trouble: 'blob-slow', code: 'timeout' },
    'gets 500 for layers': { trouble: 'blob-500', code: 'refused' },
    'gets 500 for everything': { trouble: '500', code: 'refused' },
    'gets the page of a captive portal': { trouble: 'html', code: 'refused' },
    'is not let in': { trouble: 'unauthorized', code: 'unauthorized' },
  };
  for (const [name, { trouble, code, message = /./ }] of Object.entries(failing)) {
    it(`fails as ${code} if it ${name}, and works once that is over`, async () => {
      const { engine, registry } = suite();
      registry.trouble(trouble);
      const pull = engine.pull(registry.reference('v1'), never);
      await expect(pull).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
      expect(await engine.images()).toEqual([]);
      await registry.reset();
      expect(await engine.pull(registry.reference('v1'), never)).toMatchObject({ id: /./ });
    });
  }

  it('fails as image-missing for a tag or a repository that does not exist', async () => {
    const { engine, registry } = suite();
    for (const reference of [registry.reference('nowhere'), registry.reference('v1', 'nothing')])
      await expect(engine.pull(reference, never)).rejects.toMatchObject({ code: 'image-missing' });
  });

  it('fails as refused while the registry is down', async () => {
    const { engine, registry } = suite();
    await registry.down();
    const pull = engine.pull(registry.reference('v1'), never);
    await expect(pull).rejects.toMatchObject({ code: 'refused', message: /connection refused/ });
  });

  it('goes on past its limit as long as there is progress, until it is aborted', async () => {
    const { engine, registry } = suite();
    registry.trouble('blob-steady');
    const abort = new AbortController();
    const pull = engine.pull(registry.reference('v1'), abort.signal);
    const outcome = Promise.race([
      pull.then(String, ({ code }) => code),
      new Promise((resolve) => setTimeout(resolve, 9000, 'still going')),
    ]);
    expect(await outcome).toBe('still going');
    abort.abort();
    await expect(pull).rejects.toMatchObject({ code: 'aborted' });
    expect(await engine.images()).toEqual([]);
  });

  it('fails as no-space on a full disk, and leaves what runs alone', async () => {
    const { engine, registry, real } = suite();
    const image = registry.reference('v1');
    await engine.pull(image, never);
    const record = { container_image: image, starting_ports: [{ '28080': '80' }] };
    await engine.start(await engine.create(containerSpec(record)));
    real.fillDisk();
    const pull = engine.pull(registry.reference('v2'), never);
    await expect(pull).rejects.toMatchObject({ code: 'no-space' });
    await expect.poll(() => ask(28080)).toBe('v1');
  });

  it("sends the credentials of Docker's file, and those that were passed in", async () => {
    const { registry, real } = suite();
    const account = { username: 'dev', password: 'pass>>word??' };
    registry.requireLogin(account);
    const folder = await temporaryFolder();
    const auth = Buffer.from(`${account.username}:${account.password}`).toString('base64');
    const none = { fixed: null, dockerConfig: folder, env: {} };
    const pull = (credentials: Parameters<typeof engineAt>[1]['credentials']) =>
      engineAt(real.socket, { credentials }).pull(registry.reference('v1'), never);
    await expect(pull(none)).rejects.toMatchObject({ code: 'unauthorized' });
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ auths: { [registry.host]: { auth: 'ZGV2Om5v' } } }),
    );
    await expect(pull(none)).rejects.toMatchObject({ code: 'unauthorized' });
    await writeFile(join(folder, 'config.json'), JSON.stringify({ auths: { [registry.host]: { auth } } }));
    await expect(pull(none)).resolves.toMatchObject({ tags: [registry.reference('v1')] });
    await suite().real.clear();
    const fixed = { registry: registry.host, ...account };
    await expect(pull({ fixed, dockerConfig: null, env: {} })).resolves.toMatchObject({
      tags: [registry.reference('v1')],
    });
  });
});

describe('a pull by a real Docker that tries again and again', () => {
  const patient = engineSuite({ downloadAttempts: 5, limits });

  it('fails as timeout, since waiting for the next try is no progress', async () => {
    const { engine, registry } = patient();
    registry.trouble('blob-truncated');
    await expect(engine.pull(registry.reference('v1'), never)).rejects.toMatchObject({ code: 'timeout' });
    expect(registry.requests.filter((request) => request.includes('/blobs/')).length).toBeLessThan(4);
  });
});
