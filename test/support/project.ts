import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { temporaryFolder } from './folder.ts';
import { repositoryAt, type TestRepository } from './git.ts';

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
export interface TestProcess {
  child: ChildProcess;
  output(): string;
  /** What it has written to its standard output alone. */
  stdout(): string;
  /** Resolves with the first match of its output; rejects when it ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Resolves to its exit code. */
  ended: Promise<number | null>;
}

/** Starts a process that ends when the test is over. */
export function startProcess(
  command: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string | undefined>; uid?: number; gid?: number },
): TestProcess {
  const child = spawn(command, [...args], { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let stdout = '';
  const listeners = new Set<() => void>();
  const tell = (): void => {
    for (const listener of [...listeners]) listener();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (stream === child.stdout) stdout += chunk;
      tell();
    });
  }
  let isOver = false;
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true;
      tell();
      resolve(code);
    });
  });
  onTestFinished(async () => {
    // The whole group: npm starts a shell, which starts the program.
    if (!isOver && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await ended;
  });
  const waitFor = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output);
        if (match === null && !isOver) return;
        listeners.delete(look);
        if (match === null) reject(new Error(`ended without ${pattern}:\n${output}`));
        else resolve(match);
      };
      listeners.add(look);
      look();
    });
  return { child, output: () => output, stdout: () => stdout, waitFor, ended };
}
