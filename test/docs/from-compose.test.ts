import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { recordedCompose } from '../support/compose-program.ts';
import { testRepository } from '../support/git.ts';
import { PROJECT } from '../support/project.ts';
import { examplesOf, patternOf } from './console.ts';

const execute = promisify(execFile);
const SMALL = join(PROJECT, 'test/golden/compose/small');

it('the commands of docs/from-compose.md print what it shows, for the file that it shows', async () => {
  const text = await readFile(join(PROJECT, 'docs/from-compose.md'), 'utf8');
  const [, compose = ''] = /^```yaml\n(# compose\.yaml\n.*?)^```$/ms.exec(text) ?? [];
  // What Docker Compose says of this file was recorded.
  expect(compose).toBe(await readFile(join(SMALL, 'compose.yaml'), 'utf8'));
  const { folder } = await testRepository();
  await writeFile(join(folder, 'compose.yaml'), compose);
  const programs = await recordedCompose(SMALL);
  const examples = examplesOf(text);
  expect(examples.length).toBeGreaterThan(2);
  for (const { command, output } of examples) {
    const holdfast = `holdfast() { '${process.execPath}' '${join(PROJECT, 'dist/main.js')}' "$@"; }`;
    const env = { PATH: `${programs}:${process.env['PATH']}`, HOME: folder };
    const { stdout } = await execute('sh', ['-euc', `${holdfast}\n${command}`], { cwd: folder, env });
    expect(stdout, command).toMatch(patternOf(output));
  }
});
