import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const NODE = (process.env['HOLDFAST_TEST_NODE'] ?? process.execPath).split(' ');

/** Bytes of V8's young generation in a new process that calls `tuneCollector`, runs `code` and then allocates much. */
async function youngSpaceAfterAllocations(flags: readonly string[], code = ''): Promise<number> {
  const collector = join(await temporaryFolder(), 'collector.mjs');
  await build({
    entryPoints: ['src/service/garbage-collector.ts'],
    absWorkingDir: PROJECT,
    outfile: collector,
  });
  const script = `
    import { getHeapSpaceStatistics } from 'node:v8';
    import { tuneCollector } from '${pathToFileURL(collector)}';
    tuneCollector();
    ${code}
    let reachable = [];
    for (let count = 0; count < 6_000_000; count++) {
      reachable.push({ count });
      if (reachable.length > 100_000) reachable = [];
    }
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    console.log(space.space_used_size + space.space_available_size);
    process.exit();`;
  const [command = '', ...before] = NODE;
  const args = [...before, ...flags, '--input-type=module', '--eval', script];
  return Number(execFileSync(command, args, { encoding: 'utf8' }));
}

const MB = 1024 * 1024;

describe('tuneCollector', () => {
  it('grows the young generation to 8 MB, and no further', async () => {
    const bytes = await youngSpaceAfterAllocations([]);
    expect(bytes).toBeGreaterThan(7.2 * MB);
    expect(bytes).toBeLessThanOrEqual(8 * MB);
  });

  it('lets the young generation grow no further after a thread has started', async () => {
    const code = `
      import { once } from 'node:events';
      import { Worker } from 'node:worker_threads';
      await once(new Worker('', { eval: true }), 'exit');`;
    expect(await youngSpaceAfterAllocations([], code)).toBeLessThanOrEqual(8 * MB);
  });

  it('keeps to a smaller limit that a flag of V8 sets', async () => {
    expect(await youngSpaceAfterAllocations(['--max-semi-space-size=2'])).toBeLessThanOrEqual(2 * MB);
  });
});
