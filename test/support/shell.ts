import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Reads commands, one argument per line, runs them one after the other, and prints the exit code of each. Their output
 * goes to files, so that a process which a command leaves behind cannot write into the output of the next one.
 */
const SCRIPT = `
while IFS= read -r output && IFS= read -r folder && IFS= read -r count; do
  set --
  while [ "$count" -gt 0 ]; do
    IFS= read -r argument || exit 1
    set -- "$@" "$argument"
    count=$((count - 1))
  done
  (cd "$folder" && exec "$@") </dev/null >"$output.out" 2>"$output.err"
  echo "$?"
done`;

/** The number of idle shells that are kept; more exist only while more commands run at once. */
const MAX_IDLE = 8;

/** A shell that runs one command at a time. */
interface Shell {
  /** Writes the command's output to `OUTPUT.out` and `OUTPUT.err`; resolves to its exit code. */
  run(output: string, folder: string, command: readonly string[]): Promise<number>;
  isRunning(): boolean;
  end(): void;
}

/**
 * Runs a program in a folder and waits for its end; resolves to its standard output. Rejects with an error that has
 * `code`, `stdout` and `stderr` if the exit code is not 0. Neither folder nor arguments may contain line breaks.
 */
export type RunProgram = (folder: string, command: readonly string[]) => Promise<string>;

/**
 * Returns a function that runs programs from a few long-lived shells. The test process has hundreds of megabytes, so a
 * fork of it takes milliseconds, and tests run thousands of programs; shells are small. A shell ends with the test
 * process.
 */
export function createShells(env: NodeJS.ProcessEnv): RunProgram {
  let idle: Shell[] = [];
  return async (folder, command) => {
    idle = idle.filter((shell) => shell.isRunning());
    const shell = idle.pop() ?? startShell(env);
    const output = join(tmpdir(), `holdfast-shell-${randomUUID()}`);
    try {
      const code = await shell.run(output, folder, command);
      if (idle.length < MAX_IDLE) idle.push(shell);
      else shell.end();
      const [stdout = '', stderr = ''] = await Promise.all(
        ['out', 'err'].map((suffix) => readFile(`${output}.${suffix}`, 'utf8')),
      );
      if (code === 0) return stdout;
      throw Object.assign(new Error(`Command failed: ${command.join(' ')}\n${stderr}`), {
        code,
        stdout,
        stderr,
      });
    } finally {
      await Promise.all(['out', 'err'].map((suffix) => rm(`${output}.${suffix}`, { force: true })));
    }
  };
}

function startShell(env: NodeJS.ProcessEnv): Shell {
  const child = spawn('sh', ['-c', SCRIPT], { env, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = whenEnded(child);
  ended.catch(() => undefined);
  child.stdin.on('error', () => undefined);
  const streams = [child.stdin, child.stdout] as unknown as Socket[];
  const hold = (isHeld: boolean): void => {
    for (const stream of streams) isHeld ? stream.ref() : stream.unref();
  };
  child.unref();
  hold(false);
  return {
    run: async (output, folder, command) => {
      hold(true);
      try {
        child.stdin.write(`${[output, folder, command.length, ...command].join('\n')}\n`);
        return await Promise.race([readCode(child.stdout), ended]);
      } finally {
        hold(false);
      }
    },
    isRunning: () => child.exitCode === null && child.signalCode === null,
    end: () => void child.stdin.end(),
  };
}

/** Rejects once the process could not be started, or has ended. */
function whenEnded(child: ChildProcess): Promise<never> {
  return new Promise((_, reject) => {
    child.on('error', reject).on('exit', () => reject(new Error('a shell that runs programs has ended')));
  });
}

/** Resolves to the exit code that the shell prints next; it is so short that it arrives in one chunk. */
function readCode(stream: NodeJS.ReadableStream): Promise<number> {
  return new Promise((resolve) => stream.once('data', (line: Buffer) => resolve(Number(line.toString()))));
}
