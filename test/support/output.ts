import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** What a process has written so far, and how it ends. */
export interface Output {
  output(): string;
  /** What it has written to its standard output alone. */
  stdout(): string;
  /** Resolves with the first match of its output; rejects when it ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Whether it has ended, and said all. */
  isOver(): boolean;
  /** Resolves to its exit code. */
  ended: Promise<number | null>;
}

/** Reads what a process writes, from its beginning on. */
export function outputOf(child: ChildProcessByStdio<Writable | null, Readable, Readable>): Output {
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
  const waitFor = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(output);
        if (match === null && !isOver) return;
        listeners.delete(look);
        if (match === null)
          reject(new Error(`${child.spawnargs.join(' ')} ended without ${pattern}:\n${output}`));
        else resolve(match);
      };
      listeners.add(look);
      look();
    });
  return { output: () => output, stdout: () => stdout, waitFor, isOver: () => isOver, ended };
}
