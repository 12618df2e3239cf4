import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './folder.ts';
import { repositoryAt, type TestRepository } from './git.ts';
import { type Output, outputOf } from './output.ts';

const execute = promisify(execFile);

/** The top of this project. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * A clone of this project as a newcomer has it, with one commit of what lies here now. What `npm ci` would install is
 * linked in, and so is what it would build, so that a test needs no registry.
 */
export async function cloneProject(): Promise<TestRepository> {
  const folder = await temporaryFolder();
  const { stdout } = await execute('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: PROJECT,
  });
  for (const file of stdout.split('\0').filter((path) => path !== '')) {
    await mkdir(dirname(join(folder, file)), { recursive: true });
    await cp(join(PROJECT, file), join(folder, file)).catch(() => undefined);
  }
  await symlink(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  await cp(join(PROJECT, 'dist'), join(folder, 'dist'), { recursive: true });
  const repository = repositoryAt(folder);
  await repository.git('init', '--quiet', '--initial-branch=main');
  await repository.git('add', '--all');
  await repository.git('commit', '--quiet', '-m', 'the project');
  return repository;
}

/** A process that was started for a test, and what it has written so far. */
export interface TestProcess extends Output {
  child: ChildProcess;
}

/** Starts a process that ends when the test is over. */
export function startProcess(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string | undefined>; uid?: number; gid?: number },
): TestProcess {
  const child = spawn(command, [...args], { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = outputOf(child);
  onTestFinished(async () => {
    if (!output.isOver()) killGroup(child.pid);
    await output.ended;
  });
  return { child, ...output };
}

/** Ends a process with its whole group: npm starts a shell, which starts the program. One that has just ended is no error. */
export function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
