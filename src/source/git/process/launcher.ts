import type { GitCommand } from './commands.ts';
import { type AnswerReader, Conversation, type Talker, wasEnded } from './conversation.ts';
import { type GitContext, GitFailure, runGit } from './run.ts';

/**
 * Runs short commands of git by a small process that lives on. To start one from here takes two milliseconds of the event
 * loop, and more of what comes after: a fork copies the tables of all memory that this process has.
 */
export interface Launcher {
  /** Has the small process start while there is other work to do. */
  prepare(context: GitContext): void;
  /** As `runGit`, for a command without input; what it says as an error is in the text, too. One at a time. */
  run(context: GitContext, command: GitCommand): Promise<string>;
  close(): Promise<void>;
}

/** After this long without a command the small process ends (milliseconds). */
const IDLE_LIMIT = 30_000;

/**
 * POSIX, and nothing but what every shell has built in; a request is a line with the count of the lines that follow. What a
 * dead manager asked for is not begun any more.
 */
const SCRIPT = `
while IFS= read -r count; do
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

const SHELL: Talker = { program: 'sh', args: ['-c', SCRIPT] };

/** Whether this is the command line of such a small process. */
export function isLauncher(line: readonly string[]): boolean {
  return line.length === 3 && line[2] === SCRIPT;
}

/** Said of a machine that has none, where git itself can be started all the same. */
const NO_SHELL = /spawn sh E/;

const NEWLINE = 0x0a;
const NUL = 0;
/** Of git's own codes: it says 129 of a wrong call, and above that a shell tells of a signal. */
const HIGHEST_CODE = 129;

export function createLauncher(idleLimit = IDLE_LIMIT): Launcher {
  let shell: { key: string; conversation: Conversation } | null = null;
  let idle: NodeJS.Timeout | undefined;
  let running = 0;

  const close = async (): Promise<void> => {
    clearTimeout(idle);
    const ended = shell;
    shell = null;
    await ended?.conversation.close();
  };

  /** A command has the time that it was given, however long it is. */
  const retire = (): void => {
    if (running > 0) idle?.refresh();
    else void close();
  };

  /** The process has one environment for all that it starts. */
  const shellFor = (context: GitContext): Conversation => {
    const key = JSON.stringify(context);
    if (shell?.key !== key) {
      void close();
      shell = { key, conversation: new Conversation(context, SHELL) };
    }
    clearTimeout(idle);
    idle = setTimeout(retire, idleLimit).unref();
    return shell.conversation;
  };

  /** Null where git gave no answer, and nothing that was begun goes on. */
  const ask = async (context: GitContext, command: GitCommand): Promise<Answer | null> => {
    const { args } = command;
    running += 1;
    try {
      return await shellFor(context).ask(`${args.length}\n${args.join('\n')}\n`, readAnswer);
    } catch (error) {
      // Until it has ended, a git that it started may still be at work.
      await close();
      if (isNoAnswerOfGit(error)) return null;
      throw error instanceof GitFailure ? new GitFailure(command, error.exitCode, error.stderr) : error;
    } finally {
      running -= 1;
    }
  };

  const run = async (context: GitContext, command: GitCommand): Promise<string> => {
    const isOneLine = command.args.every((arg) => !arg.includes('\n'));
    const answer = isOneLine ? await ask(context, command) : null;
    if (answer === null) return runGit(context, command);
    const { text, code } = answer;
    if (code === 0) return text;
    throw new GitFailure(command, code > HIGHEST_CODE ? null : code, text);
  };

  return { prepare: (context) => shellFor(context).start(), run, close };
}

/** Without a shell, or after somebody ended it, git is started from here; what was begun is over by then. */
function isNoAnswerOfGit(error: unknown): boolean {
  return wasEnded(error) || (error instanceof GitFailure && NO_SHELL.test(error.stderr));
}

/** What a command said, and the code that it ended with. */
interface Answer {
  text: string;
  code: number;
}

async function readAnswer(reader: AnswerReader): Promise<Answer> {
  const text = await reader.until(NUL);
  return { text, code: Number(await reader.until(NEWLINE)) };
}
