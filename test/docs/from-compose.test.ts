import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { testRepository } from '../support/git.ts';
import { PROJECT } from '../support/project.ts';
import { examplesOf, patternOf } from './console.ts';

const execute = promisify(execFile);

it('the commands of docs/from-compose.md print what it shows, for the file that it shows', async () => {
  const text = await readFile(join(PROJECT, 'docs/from-compose.md'), 'utf8');
  const [, compose = ''] = /^```yaml\n# compose\.yaml\n(.*?)^```$/ms.exec(text) ?? [];
  const { folder } = await testRepository();
  await writeFile(join(folder, 'compose.yaml'), `# compose.yaml\n${compose}`);
  await writeFile(join(folder, '.env'), 'DB_PASSWORD=hunter2\n');
  const examples = examplesOf(text);
  expect(examples.length).toBeGreaterThan(3);
  for (const { command, output } of examples) {
    const holdfast = `holdfast() { '${process.execPath}' '${join(PROJECT, 'dist/main.js')}' "$@"; }`;
    const env = { PATH: process.env['PATH'], HOME: folder };
    const { stdout } = await execute('sh', ['-euc', `${holdfast}\n${command}`], { cwd: folder, env });
    expect(stdout, command).toMatch(patternOf(output));
  }
});
