import { EXIT } from './exit.ts';

const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const;
/**
 * Sent when the terminal closes, by both the shell and the kernel; so a second one is not a request to exit at once.
 */
const HANGUP = 'SIGHUP';

/** Milliseconds within which signals are one: on Ctrl-C the terminal sends SIGINT, and npm forwards it as well. */
const ONE_STOP = 1000;

/** Resolves to the first stop signal. SIGTERM or SIGINT more than a second after it exits at once. */
export function nextStopSignal(): Promise<string> {
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
 * Ends the process by the signal itself if that is a hang-up. A normal exit of Node would abort, since it cannot restore
 * the settings of a terminal that is closed.
 */
export async function endByHangup(signal: string): Promise<void> {
  if (signal !== HANGUP) return;
  await new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  process.removeAllListeners(HANGUP);
  process.kill(process.pid, HANGUP);
}
