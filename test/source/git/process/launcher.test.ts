import { execFileSync } from 'node:child_process';
import { mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { commands, type GitCommand } from '../../../../src/source/git/process/commands.ts';
import { createLauncher, type Launcher } from '../../../../src/source/git/process/launcher.ts';
import { type GitContext, GitFailure } from '../../../../src/source/git/process/run.ts';
import { isGitWriting } from '../../../../src/source/git/work-tree/holders.ts';
import { contextAt, FAILING_CALLS, repositoryOfFile } from '../support.ts';

const repository = await repositoryOfFile();
await repository.commit({ 'a.txt': 'one\n' });
const context = contextAt(repository.folder);

const folder = await mkdtemp(join(tmpdir(), 'holdfast-test-'));
afterAll(() => rm(folder, { recursive: true, force: true }));

function launch(idleLimit?: number): Launcher {
  const launcher = createLauncher(idleLimit);
  onTestFinished(() => launcher.close());
  return launcher;
}

/** Commands that the product does not have, for what its own cannot be brought to do. */
function command(...args: string[]): GitCommand {
  return { args };
}

/** A context in which "git" is this script. */
async function scripted(script: string, more: Partial<GitContext> = {}): Promise<GitContext> {
  const own = await mkdtemp(join(folder, 'bin-'));
  await writeFile(join(own, 'git'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return { ...context, ...more, env: { PATH: `${own}:/usr/bin:/bin` } };
}

async function failureOf(call: Promise<unknown>): Promise<GitFailure> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GitFailure);
  return error as GitFailure;
}

/** What has ended may still be in the list until somebody asks for its code. */
async function isAlive(id: number): Promise<boolean> {
  const status = await readFile(`/proc/${id}/status`, 'utf8').catch(() => 'State:\tZ');
  return !/^State:\tZ/m.test(status);
}

async function noted(path: string): Promise<number> {
  return vi.waitFor(async () => {
    const id = Number(await readFile(path, 'utf8'));
    expect(id).toBeGreaterThan(1);
    return id;
  }, 60_000);
}

describe('a launcher', () => {
  it('resolves to what git says', async () => {
    const launcher = launch();
    const tip = (await repository.git('rev-parse', 'HEAD')).trim();
    expect(await launcher.run(context, command('rev-parse', 'HEAD'))).toBe(`${tip}\n`);
    expect(await launcher.run(context, commands.refreshIndex())).toBe('');
  });

  it('starts all commands by one process that is not this one', async () => {
    const launcher = launch();
    const telling = await scripted('echo $PPID');
    launcher.prepare(telling);
    const parents = [
      await launcher.run(telling, commands.version()),
      await launcher.run(telling, commands.version()),
    ];
    expect(parents[0]).toBe(parents[1]);
    expect(Number(parents[0])).not.toBe(process.pid);
  });

  it.each([
    { name: 'blanks and quotes', args: [' a  b ', `'"`, '\t'] },
    { name: 'what a shell would replace', args: ['$HOME', '`id`', '*', '~', '\\', '\\n', '-n', '--'] },
    { name: 'nothing', args: ['', 'x', ''] },
    { name: 'no argument', args: [] },
    { name: 'other letters', args: ['größe', '日本'] },
    { name: 'a line break', args: ['a\nb', '1\n2\n'] },
  ])('gives git its arguments as they are: $name', async ({ args }) => {
    const telling = await scripted('for argument; do printf "<%s>" "$argument"; done');
    const said = await launch().run(telling, command(...args));
    expect(said).toBe(args.map((arg) => `<${arg}>`).join(''));
  });

  it('goes on with the environment of the newest command', async () => {
    const launcher = launch();
    const telling = await scripted('printf %s "$GIT_INDEX_FILE"');
    const withIndex = (path: string) => ({ ...telling, env: { ...telling.env, GIT_INDEX_FILE: path } });
    expect(await launcher.run(withIndex('one'), commands.version())).toBe('one');
    expect(await launcher.run(withIndex('two'), commands.version())).toBe('two');
  });

  it.each(FAILING_CALLS)('rejects with the exit code $name, and goes on', async ({ args, code, said }) => {
    const launcher = launch();
    const failure = await failureOf(launcher.run(context, command(...args)));
    expect(failure).toMatchObject({ exitCode: code, stderr: said });
    expect(await launcher.run(context, commands.version())).toMatch(/^git version/);
  });

  it('has no exit code of a git that a signal ended', async () => {
    const dying = await scripted('kill -9 $$');
    expect(await failureOf(launch().run(dying, commands.version()))).toMatchObject({ exitCode: null });
  });

  it('ends a command that is not done in time, and all that it started, before it rejects', async () => {
    const launcher = launch();
    const path = join(folder, 'slow');
    const slow = await scripted(`echo $$ > "${path}"; sleep 1000`, { timeLimit: 3000 });
    expect(await failureOf(launcher.run(slow, commands.version()))).toMatchObject({ exitCode: null });
    expect(await isAlive(await noted(path))).toBe(false);
    expect(await launcher.run(context, commands.version())).toMatch(/^git version/);
  });

  it('does without where the machine has no shell', async () => {
    const own = await mkdtemp(join(folder, 'bin-'));
    await writeFile(join(own, 'git'), '#!/bin/sh\necho $PPID\n', { mode: 0o755 });
    const bare = { ...context, env: { PATH: own } };
    expect(await launch().run(bare, commands.version())).toBe(`${process.pid}\n`);
  });

  it('does without where somebody ends its process', async () => {
    const launcher = launch();
    const telling = await scripted('echo $PPID');
    process.kill(Number(await launcher.run(telling, commands.version())), 'SIGKILL');
    expect(await launcher.run(telling, commands.version())).toMatch(/^\d+\n$/);
    const path = join(folder, 'ended');
    const ending = await scripted(`[ -e "${path}" ] && exit; : > "${path}"; kill -9 $PPID`);
    expect(await launcher.run(ending, commands.version())).toBe('');
  });

  it('rejects where the folder is gone', async () => {
    await failureOf(launch().run(contextAt('/nonexistent/folder'), commands.version()));
  });

  it('rejects where git is not installed', async () => {
    const own = await mkdtemp(join(folder, 'bin-'));
    execFileSync('ln', ['-s', '/bin/sh', join(own, 'sh')]);
    const failure = await failureOf(launch().run({ ...context, env: { PATH: own } }, commands.version()));
    expect(failure.stderr).toMatch(/git.*not found/);
  });

  it('ends its process when nothing was asked for some time, and not while a command is at work', async () => {
    const launcher = launch(50);
    const telling = await scripted('sleep 0.3; echo $PPID');
    const id = Number(await launcher.run(telling, commands.version()));
    // Less than the half minute that one has without this limit.
    await vi.waitFor(async () => expect(await isAlive(id)).toBe(false), 25_000);
    expect(Number(await launcher.run(telling, commands.version()))).not.toBe(id);
  });

  it.each([
    { name: 'a command is out of time', script: 'sleep 1000', timeLimit: 3000 },
    { name: 'it is closed', script: 'exit', timeLimit: 60_000 },
  ])('waits for nothing that left its group when $name', async ({ name, script, timeLimit }) => {
    const launcher = launch();
    const path = join(folder, `away ${name}`);
    const leaving = await scripted(
      `setsid sh -c 'echo $$ > "${path}"; exec sleep 60' & until [ -s "${path}" ]; do sleep 0.05; done; ${script}`,
      {
        timeLimit,
      },
    );
    await launcher.run(leaving, commands.version()).catch(() => undefined);
    await launcher.close();
    const id = await noted(path);
    expect(await isAlive(id)).toBe(true);
    process.kill(id);
  });

  it('starts no command again that was ended because it is closed', async () => {
    const launcher = launch();
    const path = join(folder, 'starts');
    const slow = await scripted(`echo $$ >> "${path}"; exec sleep 1000`);
    const failure = failureOf(launcher.run(slow, commands.version()));
    await noted(path);
    await launcher.close();
    expect(await failure).toMatchObject({ exitCode: null });
    expect((await readFile(path, 'utf8')).trim().split('\n')).toHaveLength(1);
  });

  it('names the command that is out of time', async () => {
    const slow = await scripted('sleep 1000', { timeLimit: 200 });
    const failure = await failureOf(launch().run(slow, commands.version()));
    expect(failure.message).toBe('git version failed: silent for 200 ms');
  });

  it('leaves no process behind when it is closed, and starts a new one when it is used again', async () => {
    const launcher = launch();
    const telling = await scripted('echo $PPID');
    const before = Number(await launcher.run(telling, commands.version()));
    await launcher.close();
    expect(await isAlive(before)).toBe(false);
    expect(Number(await launcher.run(telling, commands.version()))).not.toBe(before);
  });

  it('is not taken for another manager’s git', async () => {
    const launcher = launch();
    const fifo = join(repository.folder, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const call = launcher.run({ ...context, timeLimit: 60_000 }, command('hash-object', 'fifo'));
    // Opens once git does.
    const input = await open(fifo, 'w');
    expect(await isGitWriting([repository.folder])).toBe(false);
    await input.close();
    expect(await call).toMatch(/^[0-9a-f]{40}\n$/);
  });
});
