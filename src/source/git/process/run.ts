import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { messageOf } from '../../../errors.ts';
import type { GitCommand } from './commands.ts';

/** How to run git: in which folder, with which environment, and for how long at the most. */
export interface GitContext {
  folder: string;
  env: Readonly<Record<string, string>>;
  /** Milliseconds after which a call is ended. */
  timeLimit: number;
}

/** What git says of a transfer while all is well, which is longer than what it says of the end. */
const PROGRESS =
  /^[^\r\n]*\r(?!\n)|^(?:remote: )?(?:[A-Z][a-z]+ \w+: .*, done\.|Total \d+ .*|Delta compression .*)[^\S\n]*\n/gm;

/** A git call that did not end with 0. `stderr` is for logs and for telling causes apart, not for replies. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  readonly exitCode: number | null;
  readonly stderr: string;

  constructor(command: GitCommand, exitCode: number | null, stderr: string) {
    const told = redact(stderr.replaceAll(PROGRESS, '')).trim().slice(0, 500);
    super(`git ${command.args[0]} failed: ${told || `exit code ${exitCode}`}`);
    this.exitCode = exitCode;
    this.stderr = redact(stderr);
  }
}

/** What git said, or the message of another error. */
export function saidBy(error: unknown): string {
  return error instanceof GitFailure ? error.stderr : messageOf(error);
}

/** Whether git came to its end and said no, which most commands do by 1; mistakes and damage end with other codes. */
export function saidNo(error: unknown): error is GitFailure {
  return error instanceof GitFailure && error.exitCode === 1;
}

/** Milliseconds that git has to remove its locks once it was told to end. */
const GRACE = 2000;
/**
 * Bytes: a million files in one listing. A commit of a few kilobytes can name one folder in many others, and list
 * without end.
 */
export const MOST_OUTPUT = 2 ** 27;

/** A command that says more than is wanted; asked again, it would say the same. */
export class SaidTooMuch extends GitFailure {
  constructor(command: GitCommand) {
    super(command, null, `said more than ${MOST_OUTPUT} bytes`);
  }
}

/**
 * Runs one git command to its end and resolves to its standard output. Rejects with a GitFailure when it ends
 * with another code than 0, is not done within the time limit, or says more than `MOST_OUTPUT`.
 */
export async function runGit(context: GitContext, command: GitCommand, input = ''): Promise<string> {
  const pieces: Buffer[] = [];
  await hearGit(context, command, collecting(pieces), input);
  return textOf(pieces);
}

/** The same for a question: null where git answers no. */
export async function askGit(context: GitContext, command: GitCommand): Promise<string | null> {
  return runGit(context, command).catch((error) => {
    if (saidNo(error)) return null;
    throw error;
  });
}

/** The same, for whoever takes the output as it comes. `hear` tells whether what it has kept of it is not too much. */
export async function hearGit(
  context: GitContext,
  command: GitCommand,
  hear: (piece: Buffer) => boolean,
  input = '',
): Promise<void> {
  const { child, end } = startGit(context, command);
  if (!hasPipes(child))
    throw new GitFailure(command, null, (await end).error ?? 'EMFILE: it was not started');
  const watch = watchLimits(child, command, context.timeLimit);
  const err: Buffer[] = [];
  watch.listen(child.stdout, hear);
  watch.listen(child.stderr, collecting(err));
  // A command can end before it has read all: how it ended says more than that.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const { code, error } = await end;
  const exceeded = watch.end();
  if (exceeded !== null) throw exceeded;
  if (code !== 0) throw new GitFailure(command, code, error ?? textOf(err));
}

/** A process of git; `end` resolves when it has ended and said all, or could not be started. */
interface Started {
  child: ChildProcessWithoutNullStreams;
  end: Promise<{ code: number | null; error?: string }>;
}

/**
 * The one place where a git command becomes a process of its own, as the leader of a group where `detached`; nothing
 * but the context's environment reaches it.
 */
export function startGit(context: GitContext, { args }: GitCommand, detached = false): Started {
  const options = { cwd: context.folder, env: { ...context.env }, stdio: 'pipe', detached } as const;
  const child = spawn('git', [...args], options);
  const end = new Promise<{ code: number | null; error?: string }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, error: String(error) }));
    child.once('close', (code) => resolve({ code }));
  });
  return { child, end };
}

/**
 * Where no descriptor is left (EMFILE, ENFILE), and only there, Node gives a process without pipes, and an `error` that
 * somebody has to listen for.
 */
export function hasPipes(child: ChildProcess): boolean {
  return child.stdout != null && child.stderr != null;
}

function collecting(pieces: Buffer[]): (piece: Buffer) => boolean {
  let size = 0;
  return (piece) => {
    pieces.push(piece);
    size += piece.length;
    return size <= MOST_OUTPUT;
  };
}

function textOf(pieces: readonly Buffer[]): string {
  return Buffer.concat(pieces).toString();
}

interface LimitWatch {
  listen(stream: Readable, hear: (piece: Buffer) => boolean): void;
  /** Ends the watch; tells which limit was exceeded, or null. */
  end(): GitFailure | null;
}

/** Ends a process that takes too long or says too much, and lets go of what it says. */
function watchLimits(
  child: ChildProcessWithoutNullStreams,
  command: GitCommand,
  timeLimit: number,
): LimitWatch {
  let exceeded: GitFailure | null = null;
  let kill: NodeJS.Timeout | undefined;
  const exceed = (failure: GitFailure): void => {
    if (exceeded !== null) return;
    exceeded = failure;
    child.kill('SIGTERM');
    kill = setTimeout(() => child.kill('SIGKILL'), GRACE);
    // A program that git started can keep these open after git itself was ended, and nobody would learn of the end.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const late = (): void => exceed(new GitFailure(command, null, `not done within ${timeLimit} ms`));
  const timer = setTimeout(late, timeLimit);
  return {
    listen: (stream, hear) =>
      void stream.on('data', (piece: Buffer) => {
        if (!hear(piece)) exceed(new SaidTooMuch(command));
      }),
    end: () => {
      clearTimeout(timer);
      clearTimeout(kill);
      return exceeded;
    },
  };
}

/**
 * Takes user names, passwords and tokens out of any URL in a text; what only looks like them goes too. One step a
 * character: other machines write such texts.
 */
export function redact(text: string): string {
  return text.replace(/[^\s'"]+/g, (word) => {
    const [start, end] = [word.indexOf('://'), word.lastIndexOf('@')];
    return start < 0 || end < start ? word : `${word.slice(0, start)}://***${word.slice(end)}`;
  });
}
