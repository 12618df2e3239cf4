import { readFileSync, statSync } from 'node:fs';
import { runCommand } from './cli/run.ts';
import { createLogger } from './logger.ts';
import { EXIT, type ExitCode } from './process/exit.ts';
import { endProcess, openOutput } from './process/output.ts';
import { page } from './process/pager.ts';
import { endByHangup, nextStopSignal } from './process/signals.ts';
import { type Service, startService } from './service/service.ts';
import { STOP_LIMITS } from './service/stop-clock.ts';
import { type Config, SECRET_SETTINGS } from './settings/table.ts';
import { PRODUCT_VERSION } from './version.ts';

/**
 * Runs the manager until a stop signal arrives. SIGTERM or SIGINT more than a second after the first stop signal exits at
 * once.
 */
async function serve(config: Config): Promise<ExitCode> {
  const logger = await createLogger(config.LOG_LEVEL, process.stdout, SECRET_SETTINGS);
  const signalled = nextStopSignal();
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
  await signalled;
  await service.close();
  logger.info('stopped');
  await endByHangup(await signalled);
  return EXIT.ok;
}

/** Null if standard output is no terminal. */
function terminalSize(): { rows: number; columns: number } | null {
  const { isTTY, rows, columns } = process.stdout;
  return isTTY && rows > 0 && columns > 0 ? { rows, columns } : null;
}

const output = openOutput();
const code = await runCommand(process.argv.slice(2), {
  io: {
    env: process.env,
    readFile: (path) => readFileSync(path, 'utf8'),
    fileMode: (path) => (process.platform === 'win32' ? null : statSync(path).mode),
    write: output.write,
    page: (text) => page(text, { env: process.env, size: terminalSize(), write: output.write }),
    writeError: (text) => void process.stderr.write(text),
    now: Date.now,
    isTerminal: process.stderr.isTTY === true,
    columns: terminalSize()?.columns ?? null,
    hasColors: process.stdout.isTTY === true && process.stdout.hasColors(),
  },
  version: PRODUCT_VERSION,
  serve,
});
endProcess(output, code);
