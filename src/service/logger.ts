import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';

/** Where a value of this name stands in an object that is logged, it is not written. */
const SECRETS = ['authorization', 'password', 'BASIC_AUTH_PASSWORD', 'MONGODB_URI', 'token', 'secret'];

/** Bytes of the log that may wait for a reader who does not read; lines beyond that are left out. */
const MAX_WAITING = 1_048_576;

/** One line of JSON an event; on a terminal, lines for people. Never a credential. */
export async function createLogger(
  level: string,
  out: Writable & { isTTY?: boolean; hasColors?(): boolean },
): Promise<Logger> {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: (value: unknown) => (value === null ? null : '(secret)'),
    },
  };
  if (out.isTTY !== true) {
    const write = (line: string): void => void (out.writableLength <= MAX_WAITING && out.write(line));
    return pino(options, { write });
  }
  const { default: pretty } = await import('pino-pretty');
  return pino(
    options,
    pretty({
      destination: out,
      colorize: out.hasColors?.() === true,
      sync: true,
      translateTime: 'SYS:HH:MM:ss',
    }),
  );
}
