import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '../log/logger.ts';
import { EXIT, type ExitCode } from '../process/exit.ts';
import { endProcess, openOutput } from '../process/output.ts';
import { endByHangup, nextStopSignal } from '../process/signals.ts';
import { PRODUCT_VERSION } from '../version.ts';
import { type RunMode, runWorkerCommand } from './command.ts';
import { runLoop } from './loop/loop.ts';
import { openParts } from './parts.ts';
import { WORKER_SECRETS, type WorkerConfig } from './settings.ts';

/** Milliseconds from a stop signal until the process ends in any case; a running call of the engine gets ten seconds. */
const STOP_LIMIT = 15_000;

/** Runs the worker in one of its modes. A stop signal leaves all containers running; a second one exits at once. */
async function run(config: WorkerConfig, mode: RunMode): Promise<ExitCode> {
  // What a single pass prints is for people; its log goes where it does not mix with that.
  const stream = mode === 'dry-run' ? process.stderr : process.stdout;
  const logger = await createLogger(config.LOG_LEVEL, stream, WORKER_SECRETS);
  const stopping = new AbortController();
  const signalled = nextStopSignal();
  void signalled.then((signal) => {
    logger.info({ signal }, 'stopping');
    stopping.abort();
    setTimeout(() => {
      logger.error('did not stop in time; exiting now');
      process.exit(EXIT.failed);
    }, STOP_LIMIT).unref();
  });
  const parts = await openParts({
    config,
    logger,
    clock: { now: Date.now, elapsed: () => performance.now() },
    sleep: (seconds, signal) => sleep(seconds * 1000, undefined, { signal }).catch(() => undefined),
    stopping: stopping.signal,
    isLocked: mode !== 'dry-run',
  });
  try {
    const code = await runLoop(parts, { mode, write: output.write });
    if (stopping.signal.aborted) await endByHangup(await signalled);
    return code;
  } finally {
    parts.link.close();
    await parts.socket?.close();
  }
}

const output = openOutput();
const argv = process.argv.slice(2);
const code = await runWorkerCommand(argv[0] === 'help' ? ['--help'] : argv.slice(1), {
  env: process.env,
  readFile: (path) => readFileSync(path, 'utf8'),
  write: output.write,
  writeError: (text) => void process.stderr.write(text),
  columns: process.stdout.isTTY ? process.stdout.columns || null : null,
  now: Date.now,
  version: PRODUCT_VERSION,
  run,
});
endProcess(output, code);
