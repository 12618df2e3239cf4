import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { type Output, outputOf } from '../support/output.ts';
import type { Bench } from './bench.ts';

/** The root folder of this project. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '');

/** A child process and its output. */
export interface Child extends Output {
  process: ChildProcess;
  pid: number;
  /** Sends SIGTERM, and waits until it has ended. */
  stop(): Promise<void>;
}

/** Starts a process, which is ended with the row at the latest. */
export function startChild(
  bench: Bench,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): Child {
  const child = spawn(command, [...args], {
    cwd,
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const output = outputOf(child);
  const stop = async (): Promise<void> => {
    if (!output.isOver()) child.kill('SIGTERM');
    await output.ended;
  };
  bench.whenDone(stop);
  return { process: child, pid: child.pid ?? 0, ...output, stop };
}

/** Starts one of the programs in `processes/`. They are plain JavaScript, since compiling them would take time. */
export function startHelper(bench: Bench, name: string, args: readonly string[] = []): Child {
  return startChild(bench, process.execPath, [`${PROJECT}/test/bench/processes/${name}.mjs`, ...args]);
}

/** Runs a program of `processes/` with this standard input. Resolves to the last line of its output, parsed as JSON. */
export async function askHelper<T>(
  bench: Bench,
  name: string,
  args: readonly string[],
  input = '',
): Promise<T> {
  const child = startHelper(bench, name, args);
  child.process.stdin?.end(input);
  const code = await child.ended;
  if (code !== 0) throw new Error(`${name} ended with ${code}:\n${child.output()}`);
  return JSON.parse(child.output().trim().split('\n').at(-1) ?? '') as T;
}

/** Runs a program to its end; resolves to its standard output and error, rejects unless it ends with 0. */
export async function runToEnd(
  bench: Bench,
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = PROJECT,
): Promise<string> {
  const child = startChild(bench, command, args, env, cwd);
  const code = await child.ended;
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${child.output()}`);
  return child.output();
}
