import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exists } from '../../../../src/disk/exists.ts';
import { hasOrphans, isGitWriting, isHeld } from '../../../../src/source/git/work-tree/holders.ts';
import { temporaryFolder } from '../../../support/folder.ts';
import { testRepository } from '../../../support/git.ts';

/** A repository in which a patch waits, once it has begun, while the file `held` exists. `patch` has its text. */
async function slowRepository() {
  const repository = await testRepository();
  const { folder, git, commit } = repository;
  await commit({ 'a.txt': 'a\n', '.gitattributes': '*.txt filter=slow\n' });
  await writeFile(join(folder, 'a.txt'), 'b\n');
  const patch = `${await git('diff')}\n`;
  await git('checkout', '--', 'a.txt');
  const held = join(folder, '.git/held');
  const smudge = `touch ${held}.begun; while [ -e ${held} ]; do sleep 0.05; done; cat`;
  await git('config', 'filter.slow.smudge', smudge);
  await writeFile(held, '');
  return { folder, patch, held };
}

/** Runs git from a shell that another process started: a child of this process would count as our own. */
function runElsewhere(folder: string, ...args: string[]) {
  const shell = spawn('sh', ['-c', 'git "$@"; :', 'sh', ...args], { cwd: folder, stdio: 'ignore' });
  const ended = once(shell, 'exit');
  return { shell, ended };
}

describe.runIf(process.platform === 'linux')('hasOrphans', () => {
  it.each([
    ['finds a git that applies the patch of a manager', 'holdfast-patch', true],
    ['does not count a git that applies the patch of a user', 'my.patch', false],
  ])('%s', async (_, name, isFound) => {
    const { folder, patch, held } = await slowRepository();
    const path = join(folder, '.git', name);
    await writeFile(path, patch);
    const { shell, ended } = runElsewhere(folder, 'apply', '--index', '--', path);
    onTestFinished(() => void shell.kill('SIGKILL'));
    await expect.poll(() => exists(`${held}.begun`)).toBe(true);
    expect(await hasOrphans([folder])).toBe(isFound);
    await rm(held);
    await ended;
    expect(await hasOrphans([folder])).toBe(false);
  });
});

/**
 * Starts a process that looks like a git with these arguments in this folder: a shell with the name `git`, which runs a
 * script with the name of the command.
 */
async function pretendGit(folder: string, ...args: string[]): Promise<void> {
  const bin = await temporaryFolder();
  await symlink('/bin/sh', join(bin, 'git'));
  await writeFile(join(folder, args[0] as string), 'echo; read -r line\n');
  // A shell starts it, since a child of this process would count as our own.
  const shell = spawn('sh', ['-c', '"$@"; :', 'sh', join(bin, 'git'), ...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  onTestFinished(async () => {
    shell.stdin.end();
    await once(shell, 'close');
  });
  await once(shell.stdout, 'data');
}

describe.runIf(process.platform === 'linux')('a running git', () => {
  const QUESTIONS = {
    isHeld: (folder: string) => isHeld(join(folder, 'x.lock'), [folder]),
    isGitWriting: (folder: string) => isGitWriting([folder]),
    hasOrphans: (folder: string) => hasOrphans([folder]),
  };

  it.each<[string, (keyof typeof QUESTIONS)[], string]>([
    [
      'that only reads is no reason to wait',
      [],
      'log, show, diff, blame, grep, shortlog, reflog, help, cat-file, diff-tree, fsmonitor--daemon',
    ],
    ['that joins packs writes, but locks nothing', ['isGitWriting'], 'repack, pack-objects'],
    [
      'of a user can hold a lock',
      ['isHeld', 'isGitWriting'],
      'commit, stash show, diff-files, apply x-holdfast-patch, add holdfast-patch',
    ],
    [
      'with a command of a manager may be about to move the index or the branch',
      ['isHeld', 'isGitWriting', 'hasOrphans'],
      'read-tree, update-ref, update-index, checkout-index, apply /r/.git/holdfast-patch',
    ],
  ])('%s', async (_, yes, commands) => {
    const top = await temporaryFolder();
    const start = async (line: string, index: number): Promise<string> => {
      const folder = join(top, String(index));
      await mkdir(folder);
      await pretendGit(folder, ...line.split(' '));
      return folder;
    };
    const folders = await Promise.all(commands.split(', ').map(start));
    for (const [name, ask] of Object.entries(QUESTIONS)) {
      const isYes = yes.some((one) => one === name);
      // One that counts would make the answer yes for all.
      for (const folder of isYes ? folders : [top])
        expect(await ask(folder), `${name} ${folder}`).toBe(isYes);
    }
  });

  it('counts in the folders and below them, and not in others whose names begin like theirs', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'top/below'), { recursive: true });
    await pretendGit(join(folder, 'top/below'), 'commit');
    expect(await isGitWriting([join(folder, 'else'), join(folder, 'top')])).toBe(true);
    expect(await isGitWriting([join(folder, 'top/below')])).toBe(true);
    expect(await isGitWriting([join(folder, 'to'), join(folder, 'top/bel')])).toBe(false);
  });

  it('does not count if this process has started it', async () => {
    const { folder } = await testRepository();
    const child = spawn('git', ['update-ref', '--stdin'], { cwd: folder, stdio: ['pipe', 'pipe', 'ignore'] });
    onTestFinished(async () => {
      child.stdin.end();
      await once(child, 'close');
    });
    child.stdin.write('start\n');
    await once(child.stdout, 'data');
    expect(await isGitWriting([folder])).toBe(false);
  });
});
