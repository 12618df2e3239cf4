import type { Writable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { causesOf } from '../errors.ts';
import { printable } from '../text/printable.ts';

/** Fields of these names are masked in all logged objects. */
const SECRETS = ['authorization', 'password', 'token', 'secret'];

/** How many bytes of the log are buffered for a reader that does not keep up; further lines are dropped. */
const MAX_BUFFERED = 1_048_576;

/**
 * Creates the log. Each event is one line of JSON, or a readable line if `out` is a terminal. Credentials are masked,
 * and control characters that a terminal would act on are escaped. `secrets` names further fields to mask.
 */
export async function createLogger(
  level: string,
  out: Writable & { isTTY?: boolean; hasColors?(): boolean },
  secrets: readonly string[],
): Promise<Logger> {
  const options = {
    level,
    base: null,
    serializers: { err: serializeError },
    timestamp: pino.stdTimeFunctions.isoTime,
    redact: {
      paths: [...SECRETS, ...secrets].flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
      censor: (value: unknown) => (value === null ? null : '(secret)'),
    },
  };
  if (out.isTTY !== true) {
    const write = (line: string): void =>
      void (out.writableLength <= MAX_BUFFERED && out.write(printableLine(line)));
    return pino(options, { write });
  }
  const { default: pretty } = await import('pino-pretty');
  const terminal = pretty({
    destination: out,
    colorize: out.hasColors?.() === true,
    sync: true,
    translateTime: 'SYS:HH:MM:ss',
  });
  // pino-pretty parses the line and prints the characters that its escapes stand for; a doubled escape is printed as
  // one.
  const write = (line: string): void =>
    void terminal.write(printableLine(line).replace(JSON_ESCAPE, doubleControl));
  return pino(options, { write });
}

/** Serializes an error; its message is followed by those of its causes. */
function serializeError(error: unknown): unknown {
  const serialized = pino.stdSerializers.err(error as Error);
  if (!(error instanceof Error)) return serialized;
  return Object.assign(serialized, { message: [error.message, ...causesOf(error)].join(': ') });
}

const JSON_ESCAPE = /\\(?:u[0-9a-f]{4}|.)/g;

/** Doubles the escape of a control character, but not of line breaks and tabs, which stack traces need. */
function doubleControl(text: string): string {
  return /^\\[ubfr]/.test(text) ? `\\${text}` : text;
}

/** Escapes the control characters that JSON allows: file names come from everyone who can push. */
function printableLine(line: string): string {
  return `${printable(line.trimEnd())}\n`;
}
