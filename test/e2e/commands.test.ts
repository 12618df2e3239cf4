import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/settings/table.ts';
import { temporaryFolder, writeFiles } from '../support/folder.ts';
import { runProgram, runProgramOnTerminal, setUpFleet, takenPort } from './program.ts';

/** Whether `script` of util-linux is there, which runs a program on a terminal. */
const HAS_SCRIPT = spawnSync('sh', ['-c', 'script --version']).stdout?.includes('util-linux') === true;

const FIXED = { 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' };
const BROKEN = { 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\nports: [80]\n' };

/** Runs a command to its end; `output` is its standard output and standard error together. */
async function run(args: string[], env: Record<string, string> = {}, cwd?: string) {
  const started = runProgram(args, env, cwd);
  const code = await started.ended;
  return { code, stdout: started.stdout(), output: started.output() };
}

describe('the built program', () => {
  it.each(['--help', 'help', '-h'])(
    'lists commands for %s, and all settings for those of serve',
    async (argument) => {
      const { code, stdout, output } = await run([argument]);
      expect(code).toBe(0);
      expect(output).toBe(stdout);
      for (const word of ['serve', 'validate', 'plan']) expect(stdout).toContain(word);
      const serve = await run(['serve', argument === 'help' ? '--help' : argument]);
      for (const word of ['Exit codes', ...Object.keys(SETTINGS)]) expect(serve.stdout).toContain(word);
    },
  );

  it('validates: exits with 0 for valid files, and with 1 and file, line and column for an invalid one', async () => {
    const { repository } = await setUpFleet();
    const fine = await run(['validate'], {}, repository.folder);
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringContaining('2 apps')]);
    await repository.commit(BROKEN);
    const bad = await run(['validate', '--format', 'json'], {}, repository.folder);
    expect(bad.code).toBe(1);
    const file = 'desired-state/apps/web.yaml';
    expect(JSON.parse(bad.stdout).problems[0]).toMatchObject({ file, line: 2, column: 1 });
  });

  it.each(['validate', 'plan'])(
    '%s --watch runs again after a change of a file, until it is ended',
    async (command) => {
      const { repository } = await setUpFleet();
      const started = runProgram([command, '--watch'], {}, repository.folder);
      await started.waitFor(/0 problems|No changes\.\n/);
      await writeFiles(repository.folder, BROKEN);
      await started.waitFor(/web\.yaml:2:1: error/);
      await writeFiles(repository.folder, FIXED);
      await started.waitFor(/error[\s\S]*(0 problems|1 to update, 0 to delete\.)\n/);
      started.child.kill('SIGINT');
      await started.ended;
    },
  );

  it('plans: prints the changes since a revision, exits with 1 for them with --exit-code, and refuses an unknown one', async () => {
    const { repository } = await setUpFleet();
    const inFolder = (...args: string[]) => run(['plan', ...args], {}, repository.folder);
    expect((await inFolder('--exit-code')).code).toBe(0);
    await repository.commit(FIXED);
    const planned = await inFolder('--against', 'HEAD~1', '--format', 'json');
    expect(planned.code).toBe(0);
    expect(JSON.parse(planned.stdout).steps).toMatchObject([{ kind: 'app', name: 'web' }]);
    expect((await inFolder('--against', 'HEAD~1', '--exit-code')).code).toBe(1);
    const unknown = await inFolder('--against', 'no-such-branch');
    expect([unknown.code, unknown.stdout]).toEqual([expect.toSatisfy((code) => code >= 2), '']);
    expect(unknown.output).toContain('no-such-branch');
  });

  it.skipIf(!HAS_SCRIPT).each([
    ['prints colours on a terminal', { TERM: 'xterm' }, true],
    ['prints no colours with NO_COLOR', { TERM: 'xterm', NO_COLOR: '1' }, false],
    ['prints no colours on a terminal that has none', { TERM: 'dumb' }, false],
  ])('%s', async (_name, env, isColored) => {
    const { repository } = await setUpFleet();
    await repository.commit(BROKEN);
    const program = runProgramOnTerminal(['validate'], env, repository.folder);
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain('web.yaml:2:1');
    expect(program.output().includes('\u001b[')).toBe(isColored);
  });

  it.skipIf(!HAS_SCRIPT).each([
    ['draws progress if standard error is a terminal', '>/dev/null', true],
    ['draws no progress if standard error is a file', '2>errors; cat errors', false],
  ])('%s', async (_name, redirection, isDrawn) => {
    const args = ['import', '--from', 'http://127.0.0.1:1', 'fleet'];
    const program = runProgramOnTerminal(args, {}, await temporaryFolder(), redirection);
    await program.ended;
    expect(program.output()).toContain('holdfast: http://127.0.0.1:1 cannot be reached');
    expect(program.output().includes('\r\u001b[K')).toBe(isDrawn);
  });

  it('exits with 2 for wrong settings, and reports all of them at once without showing a secret', async () => {
    const { env } = await setUpFleet();
    const wrong = { CACHE_TIME: 'x', STRICT: 'maybe', BODY_LIMIT: '-1', BASIC_AUTH_PASSWORD: 'hunter-2' };
    const { code, stdout, output } = await run(['serve', '--port', 'http', '--colour', 'red'], {
      ...env,
      ...wrong,
    });
    expect([code, stdout]).toEqual([2, '']);
    for (const name of ['CACHE_TIME', 'STRICT', 'BODY_LIMIT', '--port', '--colour', 'BASIC_AUTH_USER'])
      expect(output).toContain(name);
    expect(output).not.toContain('hunter-2');
  });

  it('exits with 3 if HOST is not an address of this machine, and names the setting', async () => {
    const { env } = await setUpFleet();
    const { code, output } = await run(['serve'], { ...env, HOST: '192.0.2.1', AUTH_ENABLED: 'false' });
    expect(code).toBe(3);
    expect(output).toMatch(/^holdfast: .*HOST is not an address of this machine$/m);
  });

  it('exits with 3 if its port is in use, and names the port and the setting', async () => {
    const { env } = await setUpFleet();
    const port = await takenPort();
    const { code, output } = await run(['serve'], { ...env, PORT: port, AUTH_ENABLED: 'false' });
    expect(code).toBe(3);
    expect(output.split('\n').filter((line) => line.startsWith('holdfast: '))).toEqual([
      `holdfast: cannot listen on port ${port} of 127.0.0.1: it is in use by another program; stop that one, or set PORT to another`,
    ]);
  });
});
