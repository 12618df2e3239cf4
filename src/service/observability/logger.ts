import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { printable } from '../../plan/printable.ts';
import { SECRET_SETTINGS } from '../../settings.ts';

/** Fields of these names are masked in whatever object is logged. */
const SECRETS = ['authorization', 'password', 'token', 'secret', ...SECRET_SETTINGS];

/** Bytes of the log that may wait for a reader who does not read; lines beyond that are left out. */
const MAX_WAITING = 1_048_576;

/**
 * One line of JSON an event; on a terminal, lines for people. Never a credential, nor what a terminal takes for an
 * order.
 */
export async function createLogger(
  level: string,
  out: Writable & { isTTY?: boolean; hasColors?(): boolean },
): Promise<Logger> {
  const options = {
    level,
    base: null,
    serializers: { err: toldOnce },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: SECRETS.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: (value: unknown) => (value === null ? null : '(secret)'),
    },
  };
  if (out.isTTY !== true) {
    const write = (line: string): void =>
      void (out.writableLength <= MAX_WAITING && out.write(printableLine(line)));
    return pino(options, { write });
  }
  const { default: pretty } = await import('pino-pretty');
  const people = pretty({
    destination: out,
    colorize: out.hasColors?.() === true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
  });
  // It parses the line and prints what the escapes in it stand for; an escape that is doubled is printed as one.
  const write = (line: string): void => void people.write(printableLine(line).replace(ESCAPE, shown));
  return pino(options, { write });
}

/** Of errors of packages: one could be among its own causes. */
const MOST_CAUSES = 10;

/** An error whose message has that of each of its causes, but none that another one contains. */
function toldOnce(error: unknown): unknown {
  const shown = pino.stdSerializers.err(error as Error);
  if (!(error instanceof Error)) return shown;
  let message = error.message;
  let { cause } = error;
  for (let depth = 0; cause instanceof Error && depth < MOST_CAUSES; depth++) {
    if (!message.includes(cause.message)) message += `: ${cause.message}`;
    ({ cause } = cause);
  }
  return Object.assign(shown, { message });
}

/** An escape in a line of JSON. */
const ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;

/**
 * Doubles the escape of a control character. Line breaks and tabs do no harm, and stacks of errors are laid out by
 * them.
 */
function shown(text: string): string {
  return /^\\[ubfr]/.test(text) ? `\\${text}` : text;
}

/** JSON leaves some control characters as they are, and names of files come from anybody who may push. */
function printableLine(line: string): string {
  return `${printable(line.trimEnd())}\n`;
}
