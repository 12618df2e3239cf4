import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const execute = promisify(execFile);

/**
 * Expects that no object of the repository is missing or damaged. `fsck` reports objects as missing that are added
 * while it runs, as by a manager that pushes its record of ids or by a process that outlived it, so it is repeated for
 * a minute.
 */
export async function expectIntact(folder: string): Promise<void> {
  await expect.poll(() => checkObjects(folder), { timeout: 60_000, interval: 200 }).toBe('');
}

/** The complaints of `git fsck`; empty if there are none. */
async function checkObjects(folder: string): Promise<string> {
  const { stdout, stderr } = await execute(
    'git',
    ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'],
    { cwd: folder },
  ).catch((failure: { stdout: string; stderr: string }) => failure);
  // In a mirror, git notes that HEAD names no branch.
  const complaints = (stdout + stderr).split('\n').filter((line) => !line.startsWith('notice: '));
  return complaints.join('\n');
}
