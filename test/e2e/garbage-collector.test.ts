import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const MB = 1024 * 1024;
const NODE = (process.env['HOLDFAST_TEST_NODE'] ?? process.execPath).split(' ');

/** What a new process prints that imports the function under test, runs `code` and ends. */
async function run(flags: readonly string[], code: string): Promise<string> {
  const collector = join(await temporaryFolder(), 'collector.mjs');
  await build({
    entryPoints: ['src/service/garbage-collector.ts'],
    absWorkingDir: PROJECT,
    outfile: collector,
  });
  const script = `
    import { once } from 'node:events';
    import { setTimeout as sleep } from 'node:timers/promises';
    import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8';
    import { Worker } from 'node:worker_threads';
    import { tuneCollector } from '${pathToFileURL(collector)}';
    const space = (name) => getHeapSpaceStatistics().find(({ space_name }) => space_name === name);
    const youngSpace = () => space('new_space').space_used_size + space('new_space').space_available_size;
    let reachable = [];
    const allocate = (amount) => {
      for (let count = 0; count < amount; count++) {
        reachable.push({ count });
        if (reachable.length > 100_000) reachable = [];
      }
    };
    ${code}
    process.exit();`;
  const [command = '', ...before] = NODE;
  const args = [...before, ...flags, '--input-type=module', '--eval', script];
  return execFileSync(command, args, { encoding: 'utf8' });
}

/** Bytes of V8's young generation after `tuneCollector`, `code` and many allocations. */
async function youngSpaceAfterAllocations(flags: readonly string[], code = ''): Promise<number> {
  return Number(
    await run(flags, `tuneCollector(); ${code}; allocate(6_000_000); console.log(youngSpace());`),
  );
}

describe('tuneCollector', () => {
  it('grows the young generation to 8 MB, and no further', async () => {
    const bytes = await youngSpaceAfterAllocations([]);
    expect(bytes).toBeGreaterThan(7.2 * MB);
    expect(bytes).toBeLessThanOrEqual(8 * MB);
  });

  it('lets the young generation grow no further after a thread has started', async () => {
    const code = "await once(new Worker('', { eval: true }), 'exit')";
    expect(await youngSpaceAfterAllocations([], code)).toBeLessThanOrEqual(8 * MB);
  });

  it('shrinks the young generation if it grew before a thread was online', async () => {
    const code = `
      tuneCollector();
      const allocateWhile = async (condition) => {
        const end = performance.now() + 20_000;
        while (condition() && performance.now() < end) {
          allocate(200_000);
          await sleep(0);
        }
        return youngSpace();
      };
      // As the heap of a new thread does.
      setFlagsFromString('--semi-space-growth-factor=2');
      const before = await allocateWhile(() => youngSpace() <= 8 * ${MB});
      new Worker('', { eval: true });
      const after = await allocateWhile(() => youngSpace() > 8 * ${MB} || youngSpace() < 7.2 * ${MB});
      console.log(JSON.stringify({ before, after }));`;
    const { before, after } = JSON.parse(await run([], code));
    expect(before).toBeGreaterThan(8 * MB);
    expect(after).toBeGreaterThan(7.2 * MB);
    expect(after).toBeLessThanOrEqual(8 * MB);
  });

  it('keeps to a smaller limit that a flag of V8 sets', async () => {
    expect(await youngSpaceAfterAllocations(['--max-semi-space-size=2'])).toBeLessThanOrEqual(2 * MB);
  });
});
