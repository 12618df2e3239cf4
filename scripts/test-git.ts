/**
 * Runs the tests in which git does the work under the git of the first argument, a path: of a newer version, say, built
 * from its source into a folder of its own. Further arguments go to vitest in the place of the usual files.
 */
import { execFileSync, spawn } from 'node:child_process';
import { basename, delimiter, dirname, resolve } from 'node:path';

const USUAL = [
  'test/source/git',
  'test/origin',
  'test/reconcile',
  'test/change',
  'test/cli',
  'test/e2e/serve.test.ts',
];
const FAULTS = ['--config', 'vitest.faults.config.ts', 'test/faults/kill-sweep', 'test/faults/packs'];

const [git, ...filters] = process.argv.slice(2);
if (git === undefined || basename(git) !== 'git') {
  process.stderr.write('which git? npm run test:git -- /path/to/bin/git\n');
  process.exit(2);
}
// The programs beside it do origin's part of a transfer.
const env = { ...process.env, PATH: `${dirname(resolve(git))}${delimiter}${process.env['PATH'] ?? ''}` };
process.stdout.write(execFileSync('git', ['version'], { env }));
const runs = filters.length > 0 ? [filters] : [USUAL, FAULTS];
for (const files of runs) {
  const code = await run(files);
  if (code !== 0) process.exitCode = code;
}

function run(files: readonly string[]): Promise<number> {
  const child = spawn('npx', ['vitest', 'run', ...files], { env, stdio: 'inherit' });
  return new Promise((done, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => done(code ?? 1));
  });
}
