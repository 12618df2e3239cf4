import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';

/** What a process has written so far, and how it ends. */
export interface Output {
  /** Its standard output and standard error, in the order of arrival. */
  output(): string;
  /** Its standard output alone. */
  stdout(): string;
  /** Resolves to the first match in its output; rejects if it ends without one. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>;
  /** Whether it has ended and all of its output was read. */
  isOver(): boolean;
  /** Resolves to its exit code; null if a signal ended it. */
  ended: Promise<number | null>;
}

/** Collects the output of a process that was just started. */
export function outputOf(child: ChildProcessByStdio<Writable | null, Readable, Readable>): Output {
  let output = '';
  let stdout = '';
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of [...listeners]) listener();
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      output += chunk;
      if (stream === child.stdout) stdout += chunk;
      notify();
    });
  }
  let isOver = false;
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      isOver = true;
      notify();
      resolve(code);
    });
  });
  const waitFor = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      const check = (): void => {
        const match = pattern.exec(output);
        if (match === null && !isOver) return;
        listeners.delete(check);
        if (match === null)
          reject(new Error(`${child.spawnargs.join(' ')} ended without ${pattern}:\n${output}`));
        else resolve(match);
      };
      listeners.add(check);
      check();
    });
  return { output: () => output, stdout: () => stdout, waitFor, isOver: () => isOver, ended };
}
