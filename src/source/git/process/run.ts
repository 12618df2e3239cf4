import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import type { GitCommand } from './commands.ts';

/** How to run git: in which folder, with which environment, and for how long at the most. */
export interface GitContext {
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Milliseconds after which a call is ended. */
  timeLimit: number;
}

/** A git call that did not end with 0. `stderr` is for logs and for telling causes apart, not for replies. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(command: GitCommand, exitCode: number | null, stderr: string) {
    super(`git ${command.args[0]} failed: ${redact(stderr).trim().slice(0, 500) || `exit code ${exitCode}`}`);
    this.exitCode = exitCode;
    this.stderr = redact(stderr);
  }
}

/** Whether git came to its end and said no, which most commands do by 1; mistakes and damage end with other codes. */
export function saidNo(error: unknown): error is GitFailure {
  return error instanceof GitFailure && error.exitCode === 1;
}

/** Milliseconds that git has to remove its locks once it was told to end. */
const GRACE = 2000;

/**
 * Runs one git command to its end and resolves to its standard output. Rejects with a GitFailure when it ends
 * with another code than 0, or is not done within the time limit.
 */
export async function runGit(context: GitContext, command: GitCommand, input = ''): Promise<string> {
  const child = startGit(context, command);
  const end = endOf(child);
  if (!hasPipes(child))
    throw new GitFailure(command, null, (await end).error ?? 'EMFILE: it was not started');
  const limit = watchTime(child, context.timeLimit);
  const [out, err] = [collect(child.stdout), collect(child.stderr)];
  // A command can end before it has read all: how it ended says more than that.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const { code, error } = await end;
  limit.end();
  if (limit.isOver()) throw new GitFailure(command, null, `not done within ${context.timeLimit} ms`);
  if (code !== 0) throw new GitFailure(command, code, error ?? textOf(err));
  return textOf(out);
}

/** The one place where a short git command becomes a process; nothing but the context's environment reaches it. */
function startGit(context: GitContext, { args }: GitCommand): ChildProcessWithoutNullStreams {
  return spawn('git', [...args], { cwd: context.folder, env: { ...context.env }, stdio: 'pipe' });
}

/** Where no descriptor is left (EMFILE, ENFILE), and only there, Node gives a process without pipes, and an `error` that somebody has to listen for. */
export function hasPipes(child: ChildProcess): boolean {
  return child.stdout != null && child.stderr != null;
}

function collect(stream: Readable): Buffer[] {
  const pieces: Buffer[] = [];
  stream.on('data', (piece: Buffer) => pieces.push(piece));
  return pieces;
}

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString();
}

/** Resolves when the process has ended and said all, or could not be started. */
function endOf(child: ChildProcessWithoutNullStreams): Promise<{ code: number | null; error?: string }> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, error: String(error) }));
    child.once('close', (code) => resolve({ code }));
  });
}

/** Ends a process that takes too long, and lets go of what it says. */
function watchTime(
  child: ChildProcessWithoutNullStreams,
  timeLimit: number,
): { isOver(): boolean; end(): void } {
  let isOver = false;
  let kill: NodeJS.Timeout | undefined;
  const exceed = (): void => {
    isOver = true;
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), GRACE);
    // A program that git started can keep these open after git itself was ended, and nobody would learn of the end.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const timer = setTimeout(exceed, timeLimit);
  return {
    isOver: () => isOver,
    end: () => {
      clearTimeout(timer);
      clearTimeout(kill);
    },
  };
}

/** Takes user names, passwords and tokens out of any URL in a text; what only looks like them goes too. */
export function redact(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s'"]*@/gi, '$1***@');
}
