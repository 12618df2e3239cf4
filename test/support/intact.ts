import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect } from 'vitest';

const execute = promisify(execFile);

/**
 * Nothing is missing from a repository, and nothing in it is damaged. A manager may push its record of ids just then, and a push or a
 * clean-up outlives one that is killed; `fsck` takes for missing what is added while it looks. What is really missing stays so.
 */
export async function expectIntact(folder: string): Promise<void> {
  await expect.poll(() => checkObjects(folder), { timeout: 60_000, interval: 200 }).toBe('');
}

/** What git finds wrong; empty when all is well. */
async function checkObjects(folder: string): Promise<string> {
  const { stdout, stderr } = await execute(
    'git',
    ['fsck', '--full', '--strict', '--no-dangling', '--no-progress'],
    { cwd: folder },
  ).catch((failure: { stdout: string; stderr: string }) => failure);
  // A mirror has no branch of its own.
  const told = (stdout + stderr).split('\n').filter((line) => !line.startsWith('notice: '));
  return told.join('\n');
}
