import { spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SETTINGS } from '../../src/settings.ts';
import { temporaryFolder } from '../support/folder.ts';
import { SMALL_FLEET } from '../support/manager.ts';
import { makePlace, runProgram, runProgramOnTerminal } from './program.ts';

/** The one of util-linux, which gives a program a terminal. */
const HAS_SCRIPT = spawnSync('sh', ['-c', 'script --version']).stdout?.includes('util-linux') === true;

const FIXED = { 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\n' };
const BROKEN = { 'desired-state/apps/web.yaml': 'container_image: nginx:1.27\nports: [80]\n' };

/** Runs a command to its end; what it writes for programs is in `stdout`. */
async function run(args: string[], env: Record<string, string> = {}, cwd?: string) {
  const started = runProgram(args, env, cwd);
  const code = await started.ended;
  return { code, stdout: started.stdout(), output: started.output() };
}

describe('the built program: commands', () => {
  it.each(['--help', 'help', '-h'])('%s: commands, exit codes, every setting', async (argument) => {
    const { code, stdout, output } = await run([argument]);
    expect(code).toBe(0);
    expect(output).toBe(stdout);
    for (const word of ['serve', 'validate', 'plan', 'Exit codes', ...Object.keys(SETTINGS)])
      expect(stdout).toContain(word);
  });

  it('validate: 0 where nothing is wrong, 1 with file, line and column where something is', async () => {
    const { repository } = await makePlace();
    const fine = await run(['validate'], {}, repository.folder);
    expect([fine.code, fine.stdout]).toEqual([0, expect.stringContaining('2 apps')]);
    await repository.commit(BROKEN);
    const bad = await run(['validate', '--format', 'json'], {}, repository.folder);
    expect(bad.code).toBe(1);
    const file = 'desired-state/apps/web.yaml';
    expect(JSON.parse(bad.stdout).problems[0]).toMatchObject({ file, line: 2, column: 1 });
  });

  it('plan: what uncommitted work would change; --exit-code tells it by 1', async () => {
    const { repository } = await makePlace();
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
    ['a terminal', { TERM: 'xterm' }, true],
    ['NO_COLOR', { TERM: 'xterm', NO_COLOR: '1' }, false],
    ['a terminal without colours', { TERM: 'dumb' }, false],
  ])('colours: %s', async (_name, env, isColored) => {
    const { repository } = await makePlace();
    await repository.commit(BROKEN);
    const program = runProgramOnTerminal(['validate'], env, repository.folder);
    expect(await program.ended).toBe(1);
    expect(program.output()).toContain('web.yaml:2:1');
    expect(program.output().includes('\u001b[')).toBe(isColored);
  });

  it.skipIf(!HAS_SCRIPT).each([
    ['drawn where errors go to a terminal', '>/dev/null', true],
    ['kept out of a file that they go to', '2>errors; cat errors', false],
  ])('progress is %s', async (_name, more, isDrawn) => {
    const args = ['import', '--from', 'http://127.0.0.1:1', 'fleet'];
    const program = runProgramOnTerminal(args, {}, await temporaryFolder(), more);
    await program.ended;
    expect(program.output()).toContain('holdfast: http://127.0.0.1:1 cannot be reached');
    expect(program.output().includes('\r\u001b[K')).toBe(isDrawn);
  });

  it('wrong settings: 2, every problem at once, nothing started and no secret shown', async () => {
    const { env } = await makePlace(SMALL_FLEET);
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

  it('an address that is not of this machine: 3, and what to set', async () => {
    const { env } = await makePlace(SMALL_FLEET);
    const { code, output } = await run(['serve'], { ...env, HOST: '192.0.2.1', AUTH_ENABLED: 'false' });
    expect(code).toBe(3);
    expect(output).toMatch(/^holdfast: .*HOST is not an address of this machine$/m);
  });

  it('a port that is taken: 3, and a sentence that names it', async () => {
    const { env } = await makePlace(SMALL_FLEET);
    const taken = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void taken.close());
    await new Promise((resolve) => taken.once('listening', resolve));
    const { port } = taken.address() as { port: number };
    const { code, output } = await run(['serve'], { ...env, PORT: String(port), AUTH_ENABLED: 'false' });
    expect(code).toBe(3);
    const complaint = output.split('\n').filter((line) => line.startsWith('holdfast: '));
    expect(complaint).toEqual([
      `holdfast: cannot listen on port ${port} of 127.0.0.1: it is in use by another program; stop that one, or set PORT to another`,
    ]);
  });
});
