import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { messageOf } from '../../../errors.ts';
import type { GitCommand } from './commands.ts';

/** How to run git: in which folder, with which environment, and for how long at most. */
export interface GitContext {
  folder: string;
  /** The complete environment. */
  env: Readonly<Record<string, string>>;
  /** Milliseconds after which a call is terminated. */
  timeLimit: number;
  /** The most memory that git gets, in KiB; without it, as much as there is. */
  memoryLimit?: number;
}

/**
 * Progress of a transfer, which would leave no room for the error in a message of limited length. It is anchored by the
 * line breaks that it excludes: `^` would also match behind other line separators.
 */
const PROGRESS =
  /(?<![^\r\n])(?:[^\r\n]*\r(?!\n)|(?:remote: )?(?:[A-Z][a-z]+ \w+: [^\n]*, done\.[^\S\n]*|(?:Total \d|Delta compression )[^\n]*)\n)/g;
/** What follows the thousandth character of a line: time can grow with the square of the length of a line. */
const REST_OF_LONG_LINE = /(?<=^|[\r\n])([^\r\n]{1000})[^\r\n]+/g;

/** A git call that did not end with exit code 0. `stderr` is for logs and for finding the cause; `lineOf` has what is for people. */
export class GitFailure extends Error {
  override readonly name = 'GitFailure';
  /** Null if git was not started, or did not end by itself. */
  readonly exitCode: number | null;
  readonly stderr: string;
  /** The beginning of it, without the progress of a transfer. */
  readonly said: string;

  constructor(command: GitCommand, exitCode: number | null, stderr: string) {
    const said = redact(withoutTemporaryNames(withoutMiddle(stderr)));
    const shown = said.replaceAll(PROGRESS, '').trim().slice(0, 500);
    super(`git ${command.args[0]} failed: ${shown || `exit code ${exitCode}`}`);
    this.said = shown;
    this.exitCode = exitCode;
    this.stderr = said.replaceAll(REST_OF_LONG_LINE, '$1');
  }
}

/** Returns what git printed to standard error, or the message of any other error. */
export function stderrOf(error: unknown): string {
  return error instanceof GitFailure ? error.stderr : messageOf(error);
}

/** Whether git answered no. Most commands do so by exit code 1, and report mistakes and damage by other codes. */
function isNegativeAnswer(error: unknown): error is GitFailure {
  return error instanceof GitFailure && error.exitCode === 1;
}

/** Milliseconds between SIGTERM and SIGKILL, in which git can remove its locks. */
const GRACE = 2000;
/**
 * Bytes, enough to list a million files. A commit of a few kilobytes that names the same folder in many others would
 * otherwise make a listing without end.
 */
export const MAX_OUTPUT = 2 ** 27;

/** A command printed more than `MAX_OUTPUT` bytes. It would do so again. */
export class OutputTooLarge extends GitFailure {
  constructor(command: GitCommand) {
    super(command, null, `said more than ${MAX_OUTPUT} bytes`);
  }
}

/** A command was not done within its time limit. */
export class TimeLimitExceeded extends GitFailure {
  constructor(command: GitCommand, timeLimit: number) {
    super(command, null, `not done within ${timeLimit} ms`);
  }
}

/**
 * Runs one git command to its end and resolves to its standard output. Rejects with a GitFailure if its exit code is
 * not 0, if it is not done within the time limit, or if it prints more than `MAX_OUTPUT` bytes.
 */
export async function runGit(context: GitContext, command: GitCommand, input = ''): Promise<string> {
  const chunks: Buffer[] = [];
  await streamGit(context, command, collectInto(chunks), input);
  return textOf(chunks);
}

/** Like `runGit`, but resolves to null if git answers no (`isNegativeAnswer`). */
export async function askGit(context: GitContext, command: GitCommand): Promise<string | null> {
  return runGit(context, command).catch((error) => {
    if (isNegativeAnswer(error)) return null;
    throw error;
  });
}

/** Like `runGit`, but resolves to the output also if git answers no (`isNegativeAnswer`). */
export async function runGitEitherWay(context: GitContext, command: GitCommand): Promise<string> {
  const chunks: Buffer[] = [];
  await streamGit(context, command, collectInto(chunks)).catch((error) => {
    if (!isNegativeAnswer(error)) throw error;
  });
  return textOf(chunks);
}

/**
 * Like `runGit`, but passes the output to `onChunk` as it arrives. `onChunk` returns false when it has kept
 * too much of it.
 */
export async function streamGit(
  context: GitContext,
  command: GitCommand,
  onChunk: (chunk: Buffer) => boolean,
  input = '',
): Promise<void> {
  const { code, stderr, exceeded } = await spawnGit(context, command, { onChunk, input }).end;
  if (exceeded !== null) throw exceeded;
  if (code !== 0) throw new GitFailure(command, code, stderr);
}

/** Limits of a command, in milliseconds: for all of it, and for the time without any message from it. */
export interface Limit {
  total: number;
  silence: number;
}

/** How a command is run. */
interface Spawning {
  /** Takes the output as it arrives; returns false when it has too much of it. */
  onChunk(chunk: Buffer): boolean;
  input?: string;
  /** Without it, that of the context. */
  limit?: Limit;
  /** What ends it before it is done. After SIGTERM, with which git removes its locks, what is left is killed. */
  signal?: NodeJS.Signals;
  /** Whether the signal goes to a process group of its own, with what git has started. */
  isGroup?: boolean;
}

/** A command that runs. */
export interface RunningGit {
  /** Resolves when it has ended and all its output was read. `exceeded` is the error if it was ended at a limit. */
  end: Promise<{ code: number | null; stderr: string; exceeded: GitFailure | null }>;
  /** Ends it. */
  stop(): void;
}

/** Starts a command, and ends it if it takes too long or prints too much. */
export function spawnGit(context: GitContext, command: GitCommand, how: Spawning): RunningGit {
  const { input, onChunk, signal = 'SIGTERM', isGroup = false } = how;
  const { total, silence } = how.limit ?? { total: context.timeLimit, silence: context.timeLimit };
  const { child, end } = startGit(context, command, isGroup);
  if (!hasPipes(child)) {
    const failed = end.then(({ error = 'EMFILE: it was not started' }) => ({
      code: null,
      stderr: error,
      exceeded: null,
    }));
    return { end: failed, stop: () => undefined };
  }
  let exceeded: GitFailure | null = null;
  const stop = (): void => endProcess(child, signal, isGroup);
  const exceed = (failure: GitFailure): void => {
    exceeded ??= failure;
    stop();
  };
  const limited = (limit: number) => setTimeout(() => exceed(new TimeLimitExceeded(command, limit)), limit);
  const timers = { total: limited(total), silence: limited(silence) };
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    timers.silence.refresh();
    stderr = (stderr + text).slice(-MAX_STDERR);
  });
  child.stdout.on('data', (chunk: Buffer) => {
    if (!onChunk(chunk)) exceed(new OutputTooLarge(command));
  });
  // A command can end before it has read all its input. Its exit code then says more than the error of this write.
  child.stdin.on('error', () => undefined).end(input);
  const ended = end.then(({ code, error }) => {
    for (const timer of Object.values(timers)) clearTimeout(timer);
    return { code, stderr: error ?? stderr, exceeded };
  });
  return { end: ended, stop };
}

/** Signals a process or its group; what is left after SIGTERM is killed. */
function endProcess(child: ChildProcessWithoutNullStreams, signal: NodeJS.Signals, isGroup: boolean): void {
  const { pid, stdout, stderr } = child;
  if (pid === undefined) return;
  try {
    if (isGroup) process.kill(-pid, signal);
    else child.kill(signal);
    if (signal === 'SIGTERM') setTimeout(() => endProcess(child, 'SIGKILL', isGroup), GRACE).unref();
  } catch {
    // The group has already ended.
  }
  // A program that git started, or one that left the group, can hold the pipes open after git has ended.
  stdout.destroy();
  stderr.destroy();
}

/** A process of git; `end` resolves when it has ended and all its output was read, or if it could not be started. */
interface GitProcess {
  child: ChildProcessWithoutNullStreams;
  end: Promise<{ code: number | null; error?: string }>;
}

/**
 * Starts a process for one git command; `detached` makes it the leader of a new process group. Only the context's
 * environment reaches it.
 */
export function startGit(context: GitContext, { args }: GitCommand, detached = false): GitProcess {
  const options = { cwd: context.folder, env: { ...context.env }, stdio: 'pipe', detached } as const;
  const child =
    context.memoryLimit === undefined
      ? spawn('git', [...args], options)
      : spawn('sh', ['-c', limited(context.memoryLimit), 'git', ...args], options);
  const end = new Promise<{ code: number | null; error?: string }>((resolve) => {
    child.once('error', (error) => resolve({ code: null, error: String(error) }));
    child.once('close', (code) => resolve({ code }));
  });
  return { child, end };
}

/** Where there is no such limit (macOS), git runs without one. */
function limited(memoryLimit: number): string {
  return `ulimit -v ${memoryLimit} 2>/dev/null; exec git "$@"`;
}

/**
 * Whether a process has its pipes. If no file descriptor is left (EMFILE, ENFILE), and only then, Node returns a
 * process without pipes, which emits an `error` that must be listened for.
 */
export function hasPipes(child: ChildProcess): boolean {
  return child.stdout != null && child.stderr != null;
}

/** Keeps what arrives. Returns false once that is more than `MAX_OUTPUT`. */
export function collectInto(chunks: Buffer[]): (chunk: Buffer) => boolean {
  let size = 0;
  return (chunk) => {
    chunks.push(chunk);
    size += chunk.length;
    return size <= MAX_OUTPUT;
  };
}

export function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString();
}

/** Characters at each end of a long text that are kept: what git says stands at its begin or its end. */
const KEPT = 2 ** 15;
/** Characters of standard error that are kept, the last ones: as much as a GitFailure keeps as it is. */
export const MAX_STDERR = 2 * KEPT;

function withoutMiddle(text: string): string {
  if (text.length <= 2 * KEPT) return text;
  const [begin, end] = [text.slice(0, KEPT), text.slice(-KEPT)];
  const lastLine = begin.lastIndexOf('\n');
  return `${lastLine === -1 ? begin : begin.slice(0, lastLine)}\n${end.slice(end.indexOf('\n') + 1)}`;
}

/** Leaves out of paths the names that git makes up for temporary folders and files: they tell nobody anything, and differ each time. */
function withoutTemporaryNames(text: string): string {
  return text.replaceAll(/tmp_objdir-[\w-]{1,100}\/?/g, '').replaceAll(/(tmp_[a-z]{1,10})_\w{6}/g, '$1');
}

/**
 * Removes user names, passwords and tokens from all URLs in a text, and whatever else looks like them. Takes linear
 * time, because other machines write such texts.
 */
export function redact(text: string): string {
  return text.replace(/[^\s'"]+/g, (word) => {
    const [start, end] = [word.indexOf('://'), word.lastIndexOf('@')];
    return start < 0 || end < start ? word : `${word.slice(0, start)}://***${word.slice(end)}`;
  });
}
