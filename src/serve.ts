import { createLogger } from './log/logger.ts';
import { EXIT, type ExitCode } from './process/exit.ts';
import { endByHangup, nextStopSignal } from './process/signals.ts';
import { type Service, startService } from './service/service.ts';
import { STOP_LIMITS } from './service/stop-clock.ts';
import { type Config, SECRET_SETTINGS } from './settings/table.ts';

/**
 * Runs the manager until a stop signal arrives. SIGTERM or SIGINT more than a second after the first stop signal exits at
 * once.
 */
export async function serve(config: Config): Promise<ExitCode> {
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
