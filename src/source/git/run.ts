import type { Readable } from 'node:stream';
import { type SimpleGit, simpleGit } from 'simple-git';
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

/** The categories of simple-git's own filter that our fixed environment needs; its arguments are all ours. */
const ALLOWED = {
  allowUnsafeConfigPaths: true,
  allowUnsafeConfigEnvCount: true,
  allowUnsafeAskPass: true,
  allowUnsafeSshCommand: true,
  allowUnsafeHooksPath: true,
  allowUnsafeFsMonitor: true,
  allowUnsafeCredentialHelper: true,
  allowUnsafeTemplateDir: true,
  allowUnsafeProtocolOverride: true,
  allowUnsafeGitProxy: true,
  allowUnsafeFilter: true,
} as const;

/**
 * Runs one git command to its end and resolves to its standard output. Rejects with a GitFailure when it ends
 * with another code than 0, or is not done within the time limit.
 */
export async function runGit(context: GitContext, command: GitCommand, input = ''): Promise<string> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), context.timeLimit);
  const ended: { failure?: GitFailure } = {};
  try {
    return await prepareGit(context, command, input, limit.signal, ended).raw([...command.args]);
  } catch (error) {
    if (limit.signal.aborted) throw new GitFailure(command, null, `not done within ${context.timeLimit} ms`);
    throw ended.failure ?? new GitFailure(command, null, String(error));
  } finally {
    clearTimeout(timer);
  }
}

/** One simple-git instance for one command; `ended` tells how it failed. */
function prepareGit(
  context: GitContext,
  command: GitCommand,
  input: string,
  limit: AbortSignal,
  ended: { failure?: GitFailure },
): SimpleGit {
  const git = simpleGit({
    baseDir: context.folder,
    abort: limit,
    completion: { onClose: true, onExit: false },
    allowEnvironment: Object.keys(context.env),
    unsafe: ALLOWED,
    // As bytes: of an empty text simple-git makes no end of the input, and a command that reads would wait for it.
    input: () => Buffer.from(input),
    errors: (error, result) => {
      if (result.exitCode === 0 && error === undefined) return undefined;
      ended.failure = new GitFailure(command, result.exitCode, Buffer.concat(result.stdErr).toString());
      return ended.failure;
    },
  });
  return git.env({ ...context.env }).outputHandler((_binary, stdout, stderr) => {
    endSilence(stdout);
    limit.addEventListener('abort', () => letGo(stdout, stderr));
  });
}

/**
 * simple-git waits 50 ms after the end of a command that has written nothing, for output that might still come. An
 * empty piece at the end of the stream tells it that silence was the answer.
 */
function endSilence(stdout: NodeJS.ReadableStream): void {
  stdout.once('end', () => stdout.emit('data', Buffer.alloc(0)));
}

/** A program that git started can keep these open after git itself was ended, and nobody would learn of the end. */
function letGo(...streams: NodeJS.ReadableStream[]): void {
  for (const stream of streams) (stream as Readable).destroy();
}

/** Takes user names, passwords and tokens out of any URL in a text; what only looks like them goes too. */
export function redact(text: string): string {
  return text.replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s'"]*@/gi, '$1***@');
}
