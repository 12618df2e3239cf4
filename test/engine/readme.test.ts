import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { divideReadme, type Example, examplesOf, patternOf } from '../docs/console.ts';
import { dockerShell } from '../support/engine/node-image.ts';
import { engineSuite } from '../support/engine/suite.ts';
import { cloneProject, PROJECT, startProcess } from '../support/project.ts';

const AUTHOR = { GIT_AUTHOR_NAME: 'Newcomer', GIT_AUTHOR_EMAIL: 'new@example.com' };
const COMMITTER = { GIT_COMMITTER_NAME: 'Newcomer', GIT_COMMITTER_EMAIL: 'new@example.com' };

/** Runs a command of the README, and expects its output. What is committed runs some seconds later. */
async function expectOutput(
  { command, output }: Example,
  run: (line: string) => Promise<string>,
): Promise<void> {
  const pattern = patternOf(output);
  // Until everything is as wanted the status exits with 1.
  if (/^(docker|npx) /.test(command))
    await expect.poll(() => run(`${command} || true`), { message: command }).toMatch(pattern);
  else expect(await run(command), command).toMatch(pattern);
}

describe('the commands of the README, "On a device"', () => {
  const suite = engineSuite();

  it('print what it shows: a commit becomes a container, and the next one replaces it', async () => {
    const { real, registry } = suite();
    for (const version of ['1.27-alpine', '1.29-alpine'])
      registry.push(version, { version, health: null }, 'nginx');
    const { onDevice } = divideReadme(await readFile(join(PROJECT, 'README.md'), 'utf8'));
    const section = onDevice.replaceAll('nginx:', `${registry.host}/nginx:`);
    const { folder } = await cloneProject();
    const env = { PATH: process.env['PATH'], HOME: folder, ...AUTHOR, ...COMMITTER };
    const manager = startProcess('npm', ['start'], { cwd: folder, env: { ...env, PORT: '0' } });
    const [, password = ''] = await manager.waitFor(/Sign in as "admin" with the password (\S+)/);
    const [, address = ''] = await manager.waitFor(/"address":"([^"]+)"/);

    const [, start = ''] = /^```sh\n(.*?)^```$/ms.exec(section) ?? [];
    const startWorker = start
      .replace('the-password-that-was-printed', password)
      .replace('http://127.0.0.1:8080', address);
    expect(startWorker).toContain(address);
    const shell = await dockerShell(real.socket, { ...AUTHOR, ...COMMITTER });
    const examples = examplesOf(section);
    expect(examples.length).toBeGreaterThan(8);
    const first = examples.findIndex(({ command: line }) => line.startsWith('docker '));
    for (const { command: line } of examples.slice(0, first)) await shell(line, folder);
    startProcess('sh', ['-c', startWorker], {
      cwd: folder,
      env: { ...env, DOCKER_HOST: `unix://${real.socket}`, ORCHESTRATOR_MANAGER_CHECK_IN_TIME: '1' },
    });
    for (const example of examples.slice(first))
      await expectOutput(example, (command) => shell(command, folder));
  });
});
