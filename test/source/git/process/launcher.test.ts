import { execFileSync } from 'node:child_process';
import { mkdtemp, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { createLauncher, type Launcher } from '../../../../src/source/git/process/launcher.ts';
import type { GitContext } from '../../../../src/source/git/process/run.ts';
import { isGitWriting } from '../../../../src/source/git/work-tree/holders.ts';
import { contextAt, folderOfFile, repositoryOfFile } from '../support.ts';
import { command, FAILING_CALLS, failureOf } from './failure.ts';

const EMPTY_BLOB = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

const repository = await repositoryOfFile();
await repository.commit({ 'a.txt': 'one\n' });
const context = contextAt(repository.folder);

const folder = await folderOfFile();

/** A launcher that is closed when the test is over. */
function openLauncher(idleLimit?: number): Launcher {
  const launcher = createLauncher(idleLimit);
  onTestFinished(() => launcher.close());
  return launcher;
}

/** A context in which `git` is this shell script. */
async function withGitScript(script: string, more: Partial<GitContext> = {}): Promise<GitContext> {
  const own = await mkdtemp(join(folder, 'bin-'));
  await writeFile(join(own, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ...context, ...more, env: { PATH: `${own}:/usr/bin:/bin` } };
}

/** Whether a process runs. One that has ended stays in the list (Z) until its parent asks for its exit code. */
async function isAlive(id: number): Promise<boolean> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => 'State:\tZ');
  return !/^State:\tZ/m.test(status);
}

/** Waits for a script to write its process id to a file. */
async function processIdIn(path: string): Promise<number> {
  return vi.waitFor(async () => {
    const id = Number(await readFile(path, 'utf8'));
    expect(id).toBeGreaterThan(1);
    return id;
  }, 60_000);
}

describe('a launcher', () => {
  it('resolves to what git prints', async () => {
    const launcher = openLauncher();
    const tip = (await repository.git('rev-parse', 'HEAD')).trim();
    expect(await launcher.run(context, command('rev-parse', 'HEAD'))).toBe(`${tip}\n`);
    expect(await launcher.run(context, commands.refreshIndex())).toBe('');
  });

  it('starts all commands from one process, which is not this one', async () => {
    const launcher = openLauncher();
    const printsParent = await withGitScript('echo $PPID');
    launcher.prepare(printsParent);
    const parents = [
      await launcher.run(printsParent, commands.version()),
      await launcher.run(printsParent, commands.version()),
    ];
    expect(parents[0]).toBe(parents[1]);
    expect(Number(parents[0])).not.toBe(process.pid);
  });

  it.each([
    ['blanks and quotes', [' a  b ', `'"`, '\t']],
    ['what a shell would expand', ['$HOME', '`id`', '*', '~', '\\', '\\n', '-n', '--']],
    ['empty ones', ['', 'x', '']],
    ['letters that are not ASCII', ['größe', '日本']],
    ['line breaks', ['a\nb', '1\n2\n']],
    ['none at all', []],
  ])('passes arguments on unchanged: %s', async (_, args) => {
    const printsArguments = await withGitScript('for argument; do printf "<%s>" "$argument"; done');
    const output = await openLauncher().run(printsArguments, command(...args));
    expect(output).toBe(args.map((arg) => `<${arg}>`).join(''));
  });

  it('runs each command in the environment of its own context', async () => {
    const launcher = openLauncher();
    const printsIndex = await withGitScript('printf %s "$(printenv GIT_INDEX_FILE || echo none)"');
    const withIndex = (path: string) => ({
      ...printsIndex,
      env: { ...printsIndex.env, GIT_INDEX_FILE: path },
    });
    expect(await launcher.run(withIndex('one'), commands.version())).toBe('one');
    expect(await launcher.run(withIndex('two'), commands.version())).toBe('two');
    expect(await launcher.run(printsIndex, commands.version())).toBe('none');
  });

  it('leaves a command that reads its input without any', async () => {
    const hashInput = openLauncher().run({ ...context, timeLimit: 5000 }, command('hash-object', '--stdin'));
    expect(await hashInput).toBe(`${EMPTY_BLOB}\n`);
  });

  it.each(FAILING_CALLS)(
    'rejects if git fails with exit code %d %s, and runs the next command',
    async (exitCode, _, args, stderr) => {
      const launcher = openLauncher();
      const failure = await failureOf(launcher.run(context, command(...args)));
      expect(failure).toMatchObject({ exitCode, stderr });
      expect(await launcher.run(context, commands.version())).toMatch(/^git version/);
    },
  );

  it('rejects without an exit code if a signal ends git', async () => {
    const dying = await withGitScript('kill -9 $$');
    expect(await failureOf(openLauncher().run(dying, commands.version()))).toMatchObject({ exitCode: null });
  });

  it('ends a command that exceeds the time limit, and all that it started, before it rejects', async () => {
    const launcher = openLauncher();
    const path = join(folder, 'slow');
    const slow = await withGitScript(`echo $$ > "${path}"; sleep 1000`, { timeLimit: 3000 });
    expect(await failureOf(launcher.run(slow, commands.version()))).toMatchObject({ exitCode: null });
    expect(await isAlive(await processIdIn(path))).toBe(false);
    expect(await launcher.run(context, commands.version())).toMatch(/^git version/);
  });

  it('starts git itself on a machine without a shell', async () => {
    const own = await mkdtemp(join(folder, 'bin-'));
    await writeFile(join(own, 'git'), '#!/bin/sh\necho $PPID\n', { mode: 0o755 });
    const bare = { ...context, env: { PATH: own } };
    expect(await openLauncher().run(bare, commands.version())).toBe(`${process.pid}\n`);
  });

  it('still runs a command if its shell was killed before, or is killed during it', async () => {
    const launcher = openLauncher();
    const printsParent = await withGitScript('echo $PPID');
    process.kill(Number(await launcher.run(printsParent, commands.version())), 'SIGKILL');
    expect(await launcher.run(printsParent, commands.version())).toMatch(/^\d+\n$/);
    const path = join(folder, 'ended');
    const ending = await withGitScript(`[ -e "${path}" ] && exit; : > "${path}"; kill -9 $PPID`);
    expect(await launcher.run(ending, commands.version())).toBe('');
  });

  it('rejects if the folder is missing', async () => {
    await failureOf(openLauncher().run(contextAt('/nonexistent/folder'), commands.version()));
  });

  it('rejects if git is not installed', async () => {
    const own = await mkdtemp(join(folder, 'bin-'));
    execFileSync('ln', ['-s', '/bin/sh', join(own, 'sh')]);
    const failure = await failureOf(
      openLauncher().run({ ...context, env: { PATH: own } }, commands.version()),
    );
    expect(failure.stderr).toMatch(/git.*not found/);
  });

  it('ends its shell after some time without commands, but not during a command', async () => {
    const launcher = openLauncher(50);
    const printsParent = await withGitScript('sleep 0.3; echo $PPID');
    const id = Number(await launcher.run(printsParent, commands.version()));
    // Shorter than the default limit of 30 seconds, after which the shell would end anyway.
    await vi.waitFor(async () => expect(await isAlive(id)).toBe(false), 25_000);
    expect(Number(await launcher.run(printsParent, commands.version()))).not.toBe(id);
  });

  it.each([
    ['a command exceeds the time limit', 'sleep 1000', 3000],
    ['it is closed', 'exit', 60_000],
  ])(
    'neither waits for nor ends a process that left its process group when %s',
    async (name, script, timeLimit) => {
      const launcher = openLauncher();
      const path = join(folder, `pid when ${name}`);
      const leaving = await withGitScript(
        `setsid sh -c 'echo $$ > "${path}"; exec sleep 60' & until [ -s "${path}" ]; do sleep 0.05; done; ${script}`,
        {
          timeLimit,
        },
      );
      await launcher.run(leaving, commands.version()).catch(() => undefined);
      await launcher.close();
      const id = await processIdIn(path);
      expect(await isAlive(id)).toBe(true);
      process.kill(id);
    },
  );

  it('does not repeat a command that was ended because the launcher is closed', async () => {
    const launcher = openLauncher();
    const path = join(folder, 'starts');
    const slow = await withGitScript(`echo $$ >> "${path}"; exec sleep 1000`);
    const failure = failureOf(launcher.run(slow, commands.version()));
    await processIdIn(path);
    await launcher.close();
    expect(await failure).toMatchObject({ exitCode: null });
    expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1);
  });

  it('names the command that exceeded the time limit in the error', async () => {
    const slow = await withGitScript('sleep 1000', { timeLimit: 200 });
    const failure = await failureOf(openLauncher().run(slow, commands.version()));
    expect(failure.message).toBe('git version failed: silent for 200 ms');
  });

  it('leaves no process behind when it is closed, and starts a new one for the next command', async () => {
    const launcher = openLauncher();
    const printsParent = await withGitScript('echo $PPID');
    const before = Number(await launcher.run(printsParent, commands.version()));
    await launcher.close();
    expect(await isAlive(before)).toBe(false);
    expect(Number(await launcher.run(printsParent, commands.version()))).not.toBe(before);
  });

  it('is not mistaken for a git process of another manager', async () => {
    const launcher = openLauncher();
    const fifo = join(repository.folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const call = launcher.run({ ...context, timeLimit: 60_000 }, command('hash-object', 'fifo'));
    // Resolves once git has opened the other end.
    const input = await open(fifo, 'w');
    expect(await isGitWriting([repository.folder])).toBe(false);
    await input.close();
    expect(await call).toMatch(/^[0-9a-f]{40}\n$/);
  });
});
