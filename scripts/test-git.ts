/**
 * Runs the tests that depend on git with another git, such as a newer version built from source. The first argument is
 * the path of that git. Further arguments go to vitest and replace the default test files.
 */
import { execFileSync, spawn } from 'node:child_process';
import { basename, delimiter, dirname, resolve } from 'node:path';

const DEFAULT_FILES = [
  'test/source/git',
  'test/origin',
  'test/reconcile',
  'test/change',
  'test/cli',
  'test/e2e/serve.test.ts',
];
const FAULTS = ['--project', 'faults', 'test/faults/kill-sweep', 'test/faults/packs'];

const [git, ...filters] = process.argv.slice(2);
if (git === undefined || basename(git) !== 'git') {
  process.stderr.write('which git? npm run test:git -- /path/to/bin/git\n');
  process.exit(2);
}
// By PATH, git also finds the programs beside it, which do origin's part of a transfer.
const env = { ...process.env, PATH: `${dirname(resolve(git))}${delimiter}${process.env['PATH'] ?? ''}` };
process.stdout.write(execFileSync('git', ['version'], { env }));
const runs = filters.length > 0 ? [filters] : [DEFAULT_FILES, FAULTS];
for (const files of runs) {
  const code = await run(files);
  if (code !== 0) process.exitCode = code;
}

function run(files: readonly string[]): Promise<number> {
  const child = spawn('npx', ['vitest', 'run', ...files], { env, stdio: 'inherit' });
  return new Promise((resolveCode, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolveCode(code ?? 1));
  });
}
