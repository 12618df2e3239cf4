import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { exists } from '../../../../src/disk/exists.ts';
import { hasOrphans } from '../../../../src/source/git/work-tree/holders.ts';
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
