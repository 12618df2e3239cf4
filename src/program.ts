import { readFileSync } from 'node:fs';
import { EXIT, type ExitCode } from './cli/io.ts';
import { runCommand } from './cli/run.ts';
import { holdMemoryDown, tuneCollector } from './service/garbage-collector.ts';
import { createLogger } from './service/observability/logger.ts';
import { type Service, startService } from './service/service.ts';
import { STOP_LIMITS } from './service/stop-clock.ts';
import { keepShapeOfTicks } from './service/tick-shape.ts';
import { PRODUCT_VERSION } from './service/version.ts';
import type { Config } from './settings.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/**
 * Sent when the terminal closes, by both the shell and the kernel; so a second one is not a request to exit at once.
 */
const HANGUP = 'SIGHUP';

/** Milliseconds within which signals are one: on Ctrl-C the terminal sends SIGINT, and npm forwards it as well. */
const ONE_STOP = 1000;

/**
 * Runs the manager until a stop signal arrives. SIGTERM or SIGINT more than a second after the first stop signal exits at
 * once.
 */
async function serve(config: Config): Promise<ExitCode> {
  tuneCollector();
  keepShapeOfTicks();
  const logger = await createLogger(config.LOG_LEVEL, process.stdout);
  const signalled = firstSignal();
  const stopping = new AbortController();
  void signalled.then((signal) => {
    logger.info({ signal }, 'stopping');
    stopping.abort();
    setTimeout(() => {
      logger.error('did not stop in time; exiting now');
      process.exit(EXIT.failed);
    }, STOP_LIMITS.end).unref();
  });
  const announce = (text: string): void => void process.stderr.write(text);
  const draw = process.stderr.isTTY
    ? (text: string): void => void process.stderr.write(`\r\u001b[K${text}`)
    : null;
  const service: Service = await startService(config, {
    clock: { now: Date.now, elapsed: () => performance.now() },
    env: process.env,
    logger,
    announce,
    draw,
    stopping: stopping.signal,
  });
  holdMemoryDown();
  await signalled;
  await service.close();
  logger.info('stopped');
  if ((await signalled) === HANGUP) await dieOfHangup();
  return EXIT.ok;
}

/** Resolves to the first stop signal; a later one can end the process. */
function firstSignal(): Promise<string> {
  return new Promise((resolve) => {
    let firstAt: number | null = null;
    for (const signal of [...STOP_SIGNALS, HANGUP]) {
      process.on(signal, () => {
        firstAt ??= performance.now();
        if (signal !== HANGUP && performance.now() - firstAt > ONE_STOP) process.exit(EXIT.failed);
        resolve(signal);
      });
    }
  });
}

/**
 * Ends the process by the signal itself. A normal exit of Node would abort, since it cannot restore the settings of a
 * terminal that is closed.
 */
async function dieOfHangup(): Promise<void> {
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.removeAllListeners(HANGUP);
  process.kill(process.pid, HANGUP);
}

/**
 * Writes results to standard output and keeps the first error. Both streams get an error listener, because without one
 * the first failed write would end the process. Serving devices matters more than the log: on a full disk, or when
 * the reader is gone, lines are lost.
 */
function openOutput(): { write(text: string): void; failure(): Error | null } {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  let failure: Error | null = null;
  const onWritten = (error?: NodeJS.ErrnoException | null): void => {
    // A reader such as `head` that closes the pipe early is not a failure.
    if (error != null && error.code !== 'EPIPE') failure ??= error;
  };
  return { write: (text) => void process.stdout.write(text, onWritten), failure: () => failure };
}

const output = openOutput();
const code = await runCommand(process.argv.slice(2), {
  io: {
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    write: output.write,
    writeError: (text) => void process.stderr.write(text),
    isTerminal: process.stderr.isTTY === true,
    hasColors: process.stdout.isTTY === true && process.stdout.hasColors(),
  },
  version: PRODUCT_VERSION,
  serve,
  copyStore: async (...copy) => (await import('./service/copy-store.ts')).copyStore(...copy),
});
// Writes to a pipe are asynchronous: exit only after the last one is done.
process.stdout.write('', () => {
  const failure = output.failure();
  if (failure !== null)
    process.stderr.write(`holdfast: the output could not be written: ${failure.message}\n`);
  process.exit(failure === null ? code : EXIT.failed);
});
