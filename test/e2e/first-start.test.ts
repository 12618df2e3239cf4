import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../support/folder.ts';
import { PROJECT } from '../support/project.ts';
import { runProgram, runProgramOnTerminal, serve, setUpFleet, stop, takenPort } from './program.ts';

/** Printed with a new password. */
const PASSWORD_NOTICE = /This is shown once/;

describe('a first start', () => {
  it('makes and shows a password only if it succeeds, even after failed starts', async () => {
    const setup = await setUpFleet();
    const failing = [
      ['git is missing', { ...setup.env, PATH: await temporaryFolder() }],
      ['the port is in use', { ...setup.env, PORT: await takenPort() }],
    ] as const;
    for (const [name, env] of failing) {
      const program = runProgram(['serve'], env);
      expect(await program.ended, name).not.toBe(0);
      expect(program.output(), name).not.toMatch(PASSWORD_NOTICE);
      expect(await readdir(setup.dataFolder), name).not.toContain('admin.json');
    }
    const program = await serve(setup);
    await program.waitFor(PASSWORD_NOTICE);
    expect(await readdir(setup.dataFolder)).toContain('admin.json');
    await stop(program);
  });

  it('prints no more than a dozen lines for the sample fleet, and the password last, in a frame', async () => {
    const folder = join(PROJECT, 'desired-state');
    const paths = await readdir(folder, { recursive: true });
    const yaml = paths.filter((path) => path.endsWith('.yaml'));
    const texts = await Promise.all(yaml.map((path) => readFile(join(folder, path), 'utf8')));
    const setup = await setUpFleet(Object.fromEntries(yaml.map((path, index) => [path, texts[index] ?? ''])));
    const program = runProgramOnTerminal(['serve'], setup.env);
    await program.waitFor(/password [\w-]+ +\|\r?\n\+-+\+\r?\n/);
    const lines = program
      .output()
      .split(/\r?\n/)
      .filter((line) => line !== '');
    const [top, notice, bottom] = lines.slice(-3);
    expect(top).toMatch(/^\+-+ This is shown once: .* -+\+$/);
    expect(notice).toMatch(/^\| {2}Sign in as "admin" with the password [\w-]{27} {2}\|$/);
    expect(bottom).toBe(`+${'-'.repeat((top ?? '').length - 2)}+`);
    expect(lines.slice(0, -3).length, program.output()).toBeLessThanOrEqual(12);
    expect(program.output()).toContain(`${yaml.length} objects applied; LOG_LEVEL=debug lists them`);
  });

  it('shows the password while origin does not answer, although the first pass waits for it', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as AddressInfo;
    const env = {
      PORT: '0',
      GIT_REMOTE: `https://127.0.0.1:${port}/fleet.git`,
      GIT_TIMEOUT: '600',
      DATA_DIR: join(await temporaryFolder(), 'data'),
    };
    const program = runProgram(['serve'], env);
    await program.waitFor(PASSWORD_NOTICE);
    expect(program.output()).not.toContain('origin cannot be used');
    const { address } = JSON.parse(await readFile(join(env.DATA_DIR, 'manager.json'), 'utf8'));
    expect((await fetch(`${address}/readyz`)).status).toBe(503);
  });
});
