import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { temporaryFolder, type WhenDone } from './folder.ts';
import { repositoryAt, type TestRepository } from './git.ts';
import { type Output, outputOf } from './output.ts';

const execute = promisify(execFile);

/** Path of this project's folder, without a slash at the end. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/**
 * A new repository with this project's present files in one commit, also those that are not committed here. It has
 * `node_modules` as a link and a copy of `dist`, so that a test needs neither a registry nor a build.
 */
export async function cloneProject(whenDone?: WhenDone): Promise<TestRepository> {
  const folder = await temporaryFolder(whenDone);
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

/** A process of a test. */
export interface TestProcess extends Output {
  child: ChildProcess;
}

/** Starts a process in its own process group, which is killed when the test is over. `env` is its whole environment. */
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

/** Kills a process group by its leader: npm starts a shell, which starts the program. It may have ended already. */
export function killGroup(leader: number | undefined): void {
  try {
    if (leader !== undefined) process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
