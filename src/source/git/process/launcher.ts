import type { GitCommand } from './commands.ts';
import {
  type AnswerReader,
  Conversation,
  type ConversationCommand,
  wasKilledByOthers,
} from './conversation.ts';
import { type GitContext, GitFailure, runGit } from './run.ts';

/**
 * Runs short git commands from a small shell that stays alive. Starting a process from here takes two milliseconds of
 * the event loop, and slows down what comes after, because a fork copies the page tables of this process.
 */
export interface Launcher {
  /** Starts the shell, while there is other work to do. */
  prepare(context: GitContext): void;
  /**
   * Like `runGit`, for a command without input; the text also contains what git printed to standard error.
   * One command runs at a time. Contexts that differ only in `GIT_INDEX_FILE` share a shell.
   */
  run(context: GitContext, command: GitCommand): Promise<string>;
  close(): Promise<void>;
}

/** Milliseconds without a command after which the shell ends. */
const IDLE_LIMIT = 30_000;

/**
 * A POSIX script that uses only built-in commands of the shell. A request is a line with `GIT_INDEX_FILE`, which can be
 * empty, a line with the number of arguments, and a line for each argument. Requests of a manager that has died are not
 * carried out.
 */
const SCRIPT = `
while IFS= read -r index && IFS= read -r count; do
  unset GIT_INDEX_FILE
  [ -z "$index" ] || export GIT_INDEX_FILE="$index"
  set --
  while [ "$count" -gt 0 ]; do
    IFS= read -r argument || exit 1
    set -- "$@" "$argument"
    count=$((count - 1))
  done
  kill -0 "$PPID" 2>/dev/null || exit 1
  git "$@" </dev/null 2>&1
  printf '\\0%d\\n' "$?"
done`;

const SHELL: ConversationCommand = { program: 'sh', args: ['-c', SCRIPT] };

/** Whether this is the command line of a launcher's shell. */
export function isLauncher(commandLine: readonly string[]): boolean {
  return commandLine.length === 3 && commandLine[2] === SCRIPT;
}

/** The error if the shell cannot be started, as on a machine without `sh`; git itself may still start. */
const NO_SHELL = /spawn sh E/;

const NEWLINE = 0x0a;
const NUL = 0;
/** The highest exit code of git itself, for wrong usage. By higher codes, a shell reports a signal. */
const MAX_EXIT_CODE = 129;

export function createLauncher(idleLimit = IDLE_LIMIT): Launcher {
  let shell: { key: string; conversation: Conversation } | null = null;
  let idle: NodeJS.Timeout | undefined;
  let running = 0;

  const close = async (): Promise<void> => {
    clearTimeout(idle);
    const closing = shell;
    shell = null;
    await closing?.conversation.close();
  };

  /** Ends the shell, but not during a command, which may take longer than the idle limit. */
  const closeIfIdle = (): void => {
    if (running > 0) idle?.refresh();
    else void close();
  };

  /** Returns a shell for this context. The commands of a shell share the folder, and all but the index of the environment. */
  const shellFor = ({ env, ...place }: GitContext): Conversation => {
    const context = { ...place, env: { ...env, GIT_INDEX_FILE: '' } };
    const key = JSON.stringify(context);
    if (shell?.key !== key) {
      void close();
      shell = { key, conversation: new Conversation(context, SHELL) };
    }
    clearTimeout(idle);
    idle = setTimeout(closeIfIdle, idleLimit).unref();
    return shell.conversation;
  };

  /** Resolves to null if the shell failed; nothing that it started is running any more then. */
  const ask = async (context: GitContext, command: GitCommand): Promise<CommandResult | null> => {
    const { args } = command;
    const lines = [context.env['GIT_INDEX_FILE'] ?? '', args.length, ...args];
    running += 1;
    try {
      return await shellFor(context).ask(`${lines.join('\n')}\n`, readResult);
    } catch (error) {
      // Until the shell has ended, a git that it started may still be running.
      await close();
      if (isShellFailure(error)) return null;
      throw error instanceof GitFailure ? new GitFailure(command, error.exitCode, error.stderr) : error;
    } finally {
      running -= 1;
    }
  };

  const run = async (context: GitContext, command: GitCommand): Promise<string> => {
    const texts = [context.env['GIT_INDEX_FILE'] ?? '', ...command.args];
    const hasLineBreak = texts.some((text) => text.includes('\n'));
    const result = hasLineBreak ? null : await ask(context, command);
    if (result === null) return runGit(context, command);
    const { text, code } = result;
    if (code === 0) return text;
    throw new GitFailure(command, code > MAX_EXIT_CODE ? null : code, text);
  };

  return { prepare: (context) => shellFor(context).start(), run, close };
}

/** Whether the shell failed rather than git: it could not be started, or something else ended it. */
function isShellFailure(error: unknown): boolean {
  return wasKilledByOthers(error) || (error instanceof GitFailure && NO_SHELL.test(error.stderr));
}

/** The output of a command, and its exit code. */
interface CommandResult {
  text: string;
  code: number;
}

async function readResult(reader: AnswerReader): Promise<CommandResult> {
  const text = await reader.until(NUL);
  return { text, code: Number(await reader.until(NEWLINE)) };
}
