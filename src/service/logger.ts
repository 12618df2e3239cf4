import { type Logger, pino } from 'pino';

/** Where a value of this name stands in an object that is logged, it is not written. */
const SECRETS = ['authorization', 'password', 'BASIC_AUTH_PASSWORD', 'MONGODB_URI', 'token', 'secret'];

/** One line of JSON an event; on a terminal, lines for people. Never a credential. */
export async function createLogger(
  level: string,
  out: NodeJS.WritableStream & { isTTY?: boolean },
): Promise<Logger> {
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: { paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]), censor: '(secret)' },
  };
  if (out.isTTY !== true) return pino(options, out);
  const { default: pretty } = await import('pino-pretty');
  return pino(
    options,
    pretty({ destination: out, colorize: true, sync: true, translateTime: 'SYS:HH:MM:ss' }),
  );
}
