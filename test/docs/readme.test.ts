import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { cloneProject, PROJECT, startProcess } from '../support/project.ts';
import { divideReadme, examplesOf, patternOf } from './console.ts';

const execute = promisify(execFile);

it('the README begins with the line that starts a manager, and has the one that runs the tests', async () => {
  const readme = await readFile(join(PROJECT, 'README.md'), 'utf8');
  const [, first] = /^```sh\n(.*?)^```$/ms.exec(readme) ?? [];
  expect(first).toBe('npm ci && npm start\n');
  expect(readme).toContain('`npm ci && npm test`');
});

it('the README shows files of desired-state/ as they are', async () => {
  const readme = await readFile(join(PROJECT, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```yaml\n# (desired-state\S*)\n(.*?)^```$/gms)];
  expect(blocks).toHaveLength(2);
  for (const [, file = '', text] of blocks) {
    const lines = (await readFile(join(PROJECT, file), 'utf8')).split('\n');
    expect(lines.filter((line) => !line.startsWith('#')).join('\n')).toBe(text);
  }
});

it('the commands of the README print what it shows, on a fresh clone; those on a device are tested with an engine', async () => {
  const clone = await cloneProject();
  const env = {
    PATH: process.env['PATH'],
    HOME: clone.folder,
    GIT_AUTHOR_NAME: 'Newcomer',
    GIT_AUTHOR_EMAIL: 'new@example.com',
    GIT_COMMITTER_NAME: 'Newcomer',
    GIT_COMMITTER_EMAIL: 'new@example.com',
  };
  const manager = startProcess('npm', ['start'], { cwd: clone.folder, env: { ...env, PORT: '0' } });
  const [, user, password] = await manager.waitFor(/Sign in as "(\w+)" with the password (\S+)/);
  const [, address] = await manager.waitFor(/"address":"([^"]+)"/);
  await manager.waitFor(/"msg":"applied"/);
  const shell = { ...env, HOLDFAST: address, CREDENTIALS: `${user}:${password}` };
  const { rest } = divideReadme(await readFile(join(PROJECT, 'README.md'), 'utf8'));
  const examples = examplesOf(rest);
  expect(examples.length).toBeGreaterThan(8);
  for (const { command, output } of examples) {
    const pattern = patternOf(output);
    // A commit is applied a moment later, and users type slower than this test; so reads of /info are repeated.
    for (let tries = command.includes('/info') ? 100 : 1; tries > 0; tries--) {
      const { stdout } = await execute('sh', ['-c', command], { cwd: clone.folder, env: shell });
      if (tries > 1 && !pattern.test(stdout)) await sleep(50);
      else {
        expect(stdout, command).toMatch(pattern);
        break;
      }
    }
  }
  // A supervisor sends the signal to npm alone.
  manager.child.kill('SIGTERM');
  expect(await manager.ended).toBe(0);
  expect(manager.stdout()).toMatch(/"msg":"stopped"}\n$/);
});
