import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';

const NODE = (process.env['HOLDFAST_TEST_NODE'] ?? process.execPath).split(' ');

/** Bytes of the space of young objects in a process that has done next to nothing before, and then much. */
async function youngSpaceAfterwards(flags: readonly string[]): Promise<number> {
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
    let living = [];
    for (let count = 0; count < 3_000_000; count++) {
      living.push({ count });
      if (living.length > 20_000) living = [];
    }
    const space = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space');
    console.log(space.space_used_size + space.space_available_size);
    process.exit();`;
  const [command = '', ...before] = NODE;
  const args = [...before, ...flags, '--input-type=module', '--eval', script];
  return Number(execFileSync(command, args, { encoding: 'utf8' }));
}

const MB = 1024 * 1024;

it('the collector has 8 MB for young objects, in a process that began with 1 MB, and no more', async () => {
  const bytes = await youngSpaceAfterwards([]);
  expect(bytes).toBeGreaterThan(7.2 * MB);
  expect(bytes).toBeLessThanOrEqual(8 * MB);
});

it('a limit of V8 that is below that holds', async () => {
  expect(await youngSpaceAfterwards(['--max-semi-space-size=2'])).toBeLessThanOrEqual(2 * MB);
});
