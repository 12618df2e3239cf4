import { execFileSync } from 'node:child_process';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { unreachable } from '../../../../src/source/git/origin/errors.ts';
import { commands } from '../../../../src/source/git/process/commands.ts';
import { explainFailure } from '../../../../src/source/git/process/disk-trouble.ts';
import { GitFailure, MAX_OUTPUT, redact, runGit } from '../../../../src/source/git/process/run.ts';
import { writeFiles } from '../../../support/folder.ts';
import { plumbingOf } from '../../../support/plumbing.ts';
import { contextAt, repositoryOfFile } from '../support.ts';
import { command, FAILING_CALLS, failureOf } from './failure.ts';

const repository = await repositoryOfFile();
await repository.commit({ 'a.txt': 'one\n' });
const context = contextAt(repository.folder);
const EMPTY_BLOB = 'e69de29bb2d1d6434b8b29ae775ad8c2e48c5391';

describe('runGit', () => {
  it('resolves to standard output, byte for byte', async () => {
    const blob = (await repository.git('rev-parse', 'HEAD:a.txt')).trim();
    expect(await runGit(context, command('cat-file', 'blob', blob))).toBe('one\n');
  });

  it('resolves to an empty text if the command prints nothing', async () => {
    expect(await runGit(context, commands.refTip('refs/heads/none'))).toBe('');
  });

  it('passes input on in UTF-8', async () => {
    const id = await runGit(context, command('hash-object', '-w', '--stdin'), 'größe\n');
    expect(await repository.git('cat-file', 'blob', id.trim())).toBe('größe');
  });

  it('closes the standard input of a command without input', async () => {
    // Would read until the end of its input.
    expect(await runGit(context, command('hash-object', '--stdin'))).toBe(`${EMPTY_BLOB}\n`);
  });

  it('returns output of several megabytes completely', async () => {
    const text = 'größe\n'.repeat(1_000_000);
    const id = (await runGit(context, command('hash-object', '-w', '--stdin'), text)).trim();
    expect((await runGit(context, command('cat-file', 'blob', id))) === text).toBe(true);
  });

  it('ends a command that prints too much, such as the listing of a tree that names the same folder many times over', async () => {
    const plumbing = plumbingOf(repository);
    const names = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(200));
    const blob = plumbing.blob('bomb\n');
    let tree = plumbing.tree(names.map((name) => ({ mode: '100644', name, id: blob })));
    for (let level = 0; level < 8; level++)
      tree = plumbing.tree(names.map((name) => ({ mode: '40000', name, id: tree })));
    const failure = await failureOf(runGit(context, commands.listTree(tree)));
    expect(failure.message).toBe(`git ls-tree failed: said more than ${MAX_OUTPUT} bytes`);
  });

  it.each(FAILING_CALLS)('rejects if git fails with exit code %d %s', async (exitCode, _, args, stderr) => {
    const failure = await failureOf(runGit(context, command(...args)));
    expect(failure).toMatchObject({ exitCode, stderr });
  });

  it('names the command in the message of the error, and the exit code if git printed nothing', async () => {
    const silent = await failureOf(runGit(context, command('symbolic-ref', '--quiet', 'refs/none')));
    expect(silent.message).toBe('git symbolic-ref failed: exit code 1');
    const loud = await failureOf(runGit(context, command('cat-file', 'blob', 'none')));
    expect(loud.message).toBe('git cat-file failed: fatal: Not a valid object name none');
  });

  it('leaves the progress of a transfer out of the message, in favour of the error at its end', () => {
    const progress = Array.from(
      { length: 100 },
      (_, part) => `Writing objects: ${part}% (${part}/100)\r`,
    ).join('');
    const done =
      'Enumerating objects: 9, done.\nWriting objects: 100% (100/100), done.\nTotal 100 (delta 2)\n';
    const stderr = `${progress}${done}remote: Resolving deltas: 100% (2/2), done.        \nfatal: aborted by hook\n`;
    const failure = new GitFailure(commands.version(), 128, stderr);
    expect(failure.message).toBe('git version failed: fatal: aborted by hook');
    expect(failure.stderr).toBe(stderr);
  });

  it('leaves out the names of temporary folders and files, which differ each time', () => {
    const folder = '/srv/fleet/.git/objects';
    const stderr = `fatal: unable to write ${folder}/tmp_objdir-incoming-x7Ab2C/pack/tmp_pack_yF9s_1: No space left on device`;
    const failure = new GitFailure(commands.version(), 128, stderr);
    const said = `fatal: unable to write ${folder}/pack/tmp_pack: No space left on device`;
    expect([failure.stderr, failure.message]).toEqual([said, `git version failed: ${said}`]);
  });

  it.each([
    ['blanks behind the name of a step', `remote: Total 1 ${' '.repeat(200_000)}\u2028x`],
    ['separators of lines that git does not know', '\u2028'.repeat(200_000)],
    ['words about reading', `error: ${'read '.repeat(40_000)}`],
    ['words about permissions', 'Permission to '.repeat(14_000)],
  ])('understands a message of git with many %s in linear time: another machine can send it', (_, text) => {
    const start = performance.now();
    const failure = new GitFailure(commands.version(), 128, text);
    expect(explainFailure('cannot read', failure)).toMatch(/^cannot read/);
    expect(unreachable(failure).message).toMatch(/^the transfer with origin failed/);
    expect(performance.now() - start).toBeLessThan(900);
  });

  it('keeps both ends of a very long text, and nothing of an address in what it leaves out', () => {
    const middle = 'https://me:secret@example.com '.repeat(200_000);
    const failure = new GitFailure(command('push'), 128, `first\n${middle}\nfatal: last`);
    expect(failure.stderr).toBe('first\nfatal: last');
  });

  it('rejects if git is not installed', async () => {
    const failure = await failureOf(
      runGit({ ...context, env: { PATH: '/nonexistent' } }, commands.version()),
    );
    expect(failure.message).toMatch(/ENOENT/);
  });

  it('rejects if the folder is missing', async () => {
    await failureOf(runGit(contextAt('/nonexistent/folder'), commands.version()));
  });

  it('removes credentials in URLs from the error', async () => {
    const name = 'https://olga:s3cr3t@example.com/fleet.git';
    const failure = await failureOf(runGit(context, command('apply', '--', name)));
    expect(failure.stderr).toContain('https://***@example.com/fleet.git');
    for (const text of [failure.stderr, failure.message, String(failure.stack), JSON.stringify(failure)])
      expect(text).not.toMatch(/s3cr3t|olga/);
  });

  it('ends a command that exceeds the time limit', async () => {
    execFileSync('mkfifo', [join(repository.folder, 'fifo')]);
    const failure = await failureOf(runGit({ ...context, timeLimit: 100 }, command('hash-object', 'fifo')));
    expect(failure).toMatchObject({ exitCode: null, stderr: 'not done within 100 ms' });
  });

  it('rejects at the time limit even if a program that git started is still running', async () => {
    const { git, folder } = repository;
    await writeFiles(folder, { '.gitattributes': 'slow.txt filter=slow\n', 'slow.txt': 'x' });
    await git('config', 'filter.slow.clean', `echo $$ > "${folder}/.git/pid"; exec sleep 1000`);
    const failure = await failureOf(
      runGit({ ...context, timeLimit: 3000 }, command('hash-object', 'slow.txt')),
    );
    expect(failure.stderr).toBe('not done within 3000 ms');
    process.kill(Number(await readFile(join(folder, '.git/pid'), 'utf8')));
  });

  it('kills a command that ignores SIGTERM at the time limit', async () => {
    const bin = join(repository.folder, 'bin');
    await writeFiles(bin, { git: '#!/bin/sh\ntrap "" TERM\nwhile :; do sleep 0.1; done\n' });
    await chmod(join(bin, 'git'), 0o755);
    const env = { PATH: `${bin}:${context.env['PATH']}` };
    const failure = await failureOf(runGit({ ...context, env, timeLimit: 200 }, commands.version()));
    expect(failure.stderr).toBe('not done within 200 ms');
  });

  it('resolves even if the command does not read its input', async () => {
    expect(await runGit(context, commands.version(), 'x'.repeat(10_000_000))).toMatch(/^git version/);
  });
});

describe('redact', () => {
  it.each([
    ['a user and a password', 'at https://olga:pw@host/x', 'at https://***@host/x'],
    ['a token', "'https://ghp_token@host/x'", "'https://***@host/x'"],
    ['credentials from several URLs', 'ssh://a@b c https://d:e@f', 'ssh://***@b c https://***@f'],
    ['a password with an @', 'https://olga:p@w@host/x', 'https://***@host/x'],
    ['a password with a slash', 'https://olga:p/w@host/x', 'https://***@host/x'],
    ['credentials from a URL in capitals', 'HTTPS://olga:pw@host', 'HTTPS://***@host'],
  ])('removes %s', (_, text, redacted) => {
    expect(redact(text)).toBe(redacted);
  });

  it.each([
    ['a URL without credentials', 'https://host/x'],
    ['an email address', 'Pat <pat@example.com>'],
  ])('keeps %s', (_, text) => {
    expect(redact(text)).toBe(text);
  });

  it.each([
    ['one very long word', 'a'.repeat(300_000)],
    ['many URLs in one word', 'a://'.repeat(75_000)],
  ])('takes linear time for %s, since other machines write such texts', (_, text) => {
    expect(redact(`${text}b`)).toBe(`${text}b`);
  });
});
