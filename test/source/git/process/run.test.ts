import { execFileSync } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands, type GitCommand } from '../../../../src/source/git/process/commands.ts';
import { GitFailure, MAX_OUTPUT, redact, runGit } from '../../../../src/source/git/process/run.ts';
import { writeFiles } from '../../../support/folder.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { contextAt, FAILING_CALLS, repositoryOfFile } from '../support.ts';

const repository = await repositoryOfFile();
await repository.commit({ 'a.txt': 'one\n' });
const context = contextAt(repository.folder);

/** Commands that the product does not have, for what its own cannot be brought to do. */
function command(...args: string[]): GitCommand {
  return { args };
}

async function failureOf(call: Promise<unknown>): Promise<GitFailure> {
  const error = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(GitFailure);
  return error as GitFailure;
}

describe('runGit', () => {
  it('resolves to standard output, byte for byte', async () => {
    const blob = (await repository.git('rev-parse', 'HEAD:a.txt')).trim();
    expect(await runGit(context, command('cat-file', 'blob', blob))).toBe('one\n');
  });

  it('resolves to an empty text where a command says nothing', async () => {
    expect(await runGit(context, commands.refreshIndex())).toBe('');
  });

  it('gives its input to the command, also characters of several bytes', async () => {
    const id = await runGit(context, command('hash-object', '-w', '--stdin'), 'größe\n');
    expect(await repository.git('cat-file', 'blob', id.trim())).toBe('größe');
  });

  it('closes the input of a command that gets none', async () => {
    const calls = runGit(context, commands.version());
    expect(await calls).toMatch(/^git version/);
  });

  it('takes large output whole', async () => {
    const text = 'größe\n'.repeat(1_000_000);
    const id = (await runGit(context, command('hash-object', '-w', '--stdin'), text)).trim();
    expect((await runGit(context, command('cat-file', 'blob', id))) === text).toBe(true);
  });

  it('lets go of a command that lists without end: one folder stands for many in many others', async () => {
    const git = plumbingOf(repository);
    const names = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(200));
    const blob = git.blob('bomb\n');
    let tree = git.tree(names.map((name) => ({ mode: '100644', name, id: blob })));
    for (let level = 0; level < 8; level++)
      tree = git.tree(names.map((name) => ({ mode: '40000', name, id: tree })));
    const failure = await failureOf(runGit(context, commands.listTree(tree)));
    expect(failure.message).toBe(`git ls-tree failed: said more than ${MAX_OUTPUT} bytes`);
  });

  it.each(FAILING_CALLS)('rejects with the exit code $name', async ({ args, code, said }) => {
    const failure = await failureOf(runGit(context, command(...args)));
    expect(failure).toMatchObject({ exitCode: code, stderr: said });
  });

  it('names the command in the message, and the exit code where there is nothing else to tell', async () => {
    const silent = await failureOf(runGit(context, command('symbolic-ref', '--quiet', 'refs/none')));
    expect(silent.message).toBe('git symbolic-ref failed: exit code 1');
    const loud = await failureOf(runGit(context, command('cat-file', 'blob', 'none')));
    expect(loud.message).toBe('git cat-file failed: fatal: Not a valid object name none');
  });

  it('leaves the progress of a transfer out of the message: why it failed comes last', () => {
    const progress = Array.from(
      { length: 100 },
      (_, part) => `Writing objects: ${part}% (${part}/100)\r`,
    ).join('');
    const done =
      'Enumerating objects: 9, done.\nWriting objects: 100% (100/100), done.\nTotal 100 (delta 2)\n';
    const said = `${progress}${done}remote: Resolving deltas: 100% (2/2), done.        \nfatal: aborted by hook\n`;
    const failure = new GitFailure(commands.version(), 128, said);
    expect(failure.message).toBe('git version failed: fatal: aborted by hook');
    expect(failure.stderr).toBe(said);
  });

  it('rejects where git is not installed', async () => {
    const failure = await failureOf(
      runGit({ ...context, env: { PATH: '/nonexistent' } }, commands.version()),
    );
    expect(failure.message).toMatch(/ENOENT/);
  });

  it('rejects where the folder is gone', async () => {
    await failureOf(runGit(contextAt('/nonexistent/folder'), commands.version()));
  });

  it('keeps credentials in URLs out of what it tells', async () => {
    const name = 'https://olga:s3cr3t@example.com/fleet.git';
    const failure = await failureOf(runGit(context, command('apply', '--', name)));
    expect(failure.stderr).toContain('https://***@example.com/fleet.git');
    for (const text of [failure.stderr, failure.message, String(failure.stack), JSON.stringify(failure)])
      expect(text).not.toMatch(/s3cr3t|olga/);
  });

  it('ends a command that does not end within the time limit', async () => {
    execFileSync('mkfifo', [join(repository.folder, 'fifo')]);
    const failure = await failureOf(runGit({ ...context, timeLimit: 100 }, command('hash-object', 'fifo')));
    expect(failure).toMatchObject({ exitCode: null, stderr: 'not done within 100 ms' });
  });

  it('gives up on time although a program that git started goes on', async () => {
    const { git, folder } = repository;
    await writeFiles(folder, { '.gitattributes': 'slow.txt filter=slow\n', 'slow.txt': 'x' });
    await git('config', 'filter.slow.clean', `echo $$ > "${folder}/.git/pid"; exec sleep 1000`);
    const failure = await failureOf(
      runGit({ ...context, timeLimit: 3000 }, command('hash-object', 'slow.txt')),
    );
    expect(failure.stderr).toBe('not done within 3000 ms');
    process.kill(Number(await readFile(join(folder, '.git/pid'), 'utf8')));
  });

  it('ends a command that does not heed the first signal', async () => {
    const stubborn = join(repository.folder, 'stubborn');
    await writeFiles(stubborn, { git: '#!/bin/sh\ntrap "" TERM\nwhile :; do sleep 0.1; done\n' });
    await chmod(join(stubborn, 'git'), 0o755);
    const env = { PATH: `${stubborn}:${context.env['PATH']}` };
    const failure = await failureOf(runGit({ ...context, env, timeLimit: 200 }, commands.version()));
    expect(failure.stderr).toBe('not done within 200 ms');
  });

  it('lets a command end that does not read its input', async () => {
    expect(await runGit(context, commands.version(), 'x'.repeat(10_000_000))).toMatch(/^git version/);
  });
});

describe('redact', () => {
  it.each([
    { name: 'user and password', text: 'at https://olga:pw@host/x', is: 'at https://***@host/x' },
    { name: 'a token', text: "'https://ghp_token@host/x'", is: "'https://***@host/x'" },
    { name: 'several URLs', text: 'ssh://a@b c https://d:e@f', is: 'ssh://***@b c https://***@f' },
    { name: 'an @ in the password', text: 'https://olga:p@w@host/x', is: 'https://***@host/x' },
    { name: 'a slash in the password', text: 'https://olga:p/w@host/x', is: 'https://***@host/x' },
    { name: 'capitals', text: 'HTTPS://olga:pw@host', is: 'HTTPS://***@host' },
    { name: 'nothing where there is no user', text: 'https://host/x', is: 'https://host/x' },
    { name: 'no addresses', text: 'Pat <pat@example.com>', is: 'Pat <pat@example.com>' },
  ])('takes out $name', ({ text, is }) => {
    expect(redact(text)).toBe(is);
  });

  it.each([
    { name: 'letters without an end', text: 'a'.repeat(300_000) },
    { name: 'addresses in one another', text: 'a://'.repeat(75_000) },
  ])('is done at once with $name, which another side can send as its progress', ({ text }) => {
    expect(redact(`${text}b`)).toBe(`${text}b`);
  });
});
