import { execFileSync } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commands, type GitCommand } from '../../../src/source/git/process/commands.ts';
import { GitFailure, redact, runGit } from '../../../src/source/git/process/run.ts';
import { writeFiles } from '../../support/folder.ts';
import { contextAt, repositoryOfFile } from './support.ts';

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

  it.each([
    { name: '1, silently', args: ['symbolic-ref', '--quiet', 'refs/none'], code: 1, stderr: '' },
    {
      name: '128, with a reason',
      args: ['cat-file', 'blob', 'none'],
      code: 128,
      stderr: 'fatal: Not a valid object name none\n',
    },
    {
      name: '129, wrong usage',
      args: ['cat-file', '--none'],
      code: 129,
      stderr: expect.stringContaining('unknown option'),
    },
  ])('rejects with the exit code $name', async ({ args, code, stderr }) => {
    expect(await failureOf(runGit(context, command(...args)))).toMatchObject({ exitCode: code, stderr });
  });

  it('names the command in the message, and the exit code where there is nothing else to tell', async () => {
    const silent = await failureOf(runGit(context, command('symbolic-ref', '--quiet', 'refs/none')));
    expect(silent.message).toBe('git symbolic-ref failed: exit code 1');
    const loud = await failureOf(runGit(context, command('cat-file', 'blob', 'none')));
    expect(loud.message).toBe('git cat-file failed: fatal: Not a valid object name none');
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
      runGit({ ...context, timeLimit: 200 }, command('hash-object', 'slow.txt')),
    );
    expect(failure.stderr).toBe('not done within 200 ms');
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
});
