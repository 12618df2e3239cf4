import { EXIT, type ExitCode } from './exit.ts';

/** The standard output of a command. */
export interface Output {
  write(text: string): void;
  /** Returns the first error of a write; null if there was none. */
  failure(): Error | null;
}

/**
 * Writes results to standard output and keeps the first error. Both streams get an error listener, because without one
 * the first failed write would end the process. Serving devices matters more than the log: on a full disk, or when
 * the reader is gone, lines are lost.
 */
export function openOutput(): Output {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let failure: Error | null = null;
  const onWritten = (error?: NodeJS.ErrnoException | null): void => {
    // A reader such as `head` that closes the pipe early is not a failure.
    if (error != null && error.code !== 'EPIPE') failure ??= error;
  };
  return { write: (text) => void process.stdout.write(text, onWritten), failure: () => failure };
}

/** Ends the process once everything is written, with `failed` if the output could not be. */
export function endProcess(output: Output, code: ExitCode): void {
  // Writes to a pipe are asynchronous: exit only after the last one is done.
  process.stdout.write('', () => {
    const failure = output.failure();
    if (failure !== null)
      process.stderr.write(`holdfast: the output could not be written: ${failure.message}\n`);
    process.exit(failure === null ? code : EXIT.failed);
  });
}
