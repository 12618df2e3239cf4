import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';

/** Reads commands of one argument per line. Each ends with a line that holds a mark and the exit code, on both outputs. */
const SCRIPT = `
mark=$1
while IFS= read -r folder && IFS= read -r count; do
  set --
  while [ "$count" -gt 0 ]; do
    IFS= read -r argument || exit 1
    set -- "$@" "$argument"
    count=$((count - 1))
  done
  (cd "$folder" && exec "$@") </dev/null
  code=$?
  printf '\\n%s %d\\n' "$mark" "$code" >&2
  printf '\\n%s %d\\n' "$mark" "$code"
done`;

interface Output {
  text: string;
  code: number;
}

/** Runs one command at a time. */
interface Shell {
  run(folder: string, command: readonly string[]): Promise<{ stdout: Output; stderr: Output }>;
}

/**
 * Runs a program to its end; resolves to its standard output, and rejects as `execFile` does. Neither the arguments nor
 * the folder may hold line breaks.
 */
export type RunProgram = (folder: string, command: readonly string[]) => Promise<string>;

/**
 * Runs programs from shells, which are small processes that stay: a test process has hundreds of megabytes, so that a
 * fork of it takes milliseconds, and tests run thousands of programs. A shell ends with the process that started it.
 */
export function createShells(env: NodeJS.ProcessEnv): RunProgram {
  const idle: Shell[] = [];
  return async (folder, command) => {
    const shell = idle.pop() ?? startShell(env);
    const { stdout, stderr } = await shell.run(folder, command);
    idle.push(shell);
    if (stdout.code === 0) return stdout.text;
    const message = `Command failed: ${command.join(' ')}\n${stderr.text}`;
    throw Object.assign(new Error(message), {
      code: stdout.code,
      stdout: stdout.text,
      stderr: stderr.text,
    });
  };
}

function startShell(env: NodeJS.ProcessEnv): Shell {
  const mark = randomUUID();
  const child = spawn('sh', ['-c', SCRIPT, 'sh', mark], { env, stdio: 'pipe' });
  const streams = [child.stdin, child.stdout, child.stderr] as unknown as Socket[];
  const ended = new Promise<never>((_, reject) => {
    child.on('error', reject).on('exit', () => reject(new Error('a shell that runs programs has ended')));
  });
  ended.catch(() => undefined);
  child.unref();
  return {
    run: async (folder, command) => {
      for (const stream of streams) stream.ref();
      child.stdin.write(`${[folder, command.length, ...command].join('\n')}\n`);
      const outputs = Promise.all([readOutput(child.stdout, mark), readOutput(child.stderr, mark)]);
      const [stdout, stderr] = await Promise.race([outputs, ended]);
      for (const stream of streams) stream.unref();
      return { stdout, stderr };
    },
  };
}

/** What one command writes to one of its outputs. */
function readOutput(stream: NodeJS.ReadableStream, mark: string): Promise<Output> {
  const end = new RegExp(`\\n${mark} (\\d+)\\n$`);
  const chunks: Buffer[] = [];
  return new Promise((resolve) => {
    const add = (chunk: Buffer): void => {
      chunks.push(chunk);
      const tail = Buffer.concat(chunks.slice(-2)).toString('latin1');
      const [line, code] = end.exec(tail) ?? [];
      if (line === undefined) return;
      stream.off('data', add);
      const text = Buffer.concat(chunks).toString();
      resolve({ text: text.slice(0, -line.length), code: Number(code) });
    };
    stream.on('data', add);
  });
}
