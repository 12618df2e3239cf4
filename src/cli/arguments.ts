import { parseArgs } from 'node:util';
import { UsageError } from './io.ts';
import { FORMATS, type Format } from './report.ts';

/** The arguments that `validate` and `plan` share, and the values of a command's own options. */
export interface CommandArguments {
  folder: string | undefined;
  format: Format;
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** An option of one command: its name, and whether it takes a value. */
export interface CommandOption {
  name: string;
  type: 'string' | 'boolean';
}

/** Parses `[FOLDER] [--format FORMAT]` and a command's own options. Throws a UsageError that says what is wrong. */
export function parseCommand(args: readonly string[], own: readonly CommandOption[]): CommandArguments {
  const { values, positionals } = parse(args, own);
  const { format = 'text', ...options } = values;
  if (positionals.length > 1)
    throw new UsageError(`only one folder can be given, not ${positionals.join(' and ')}`);
  if (!isFormat(format)) throw new UsageError(`--format must be one of ${FORMATS.join(', ')}`);
  return { folder: positionals[0], format, options };
}

function parse(
  args: readonly string[],
  own: readonly CommandOption[],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  const options = Object.fromEntries(
    [{ name: 'format', type: 'string' as const }, ...own].map(({ name, type }) => [name, { type }]),
  );
  try {
    const { values, positionals } = parseArgs({ args: [...args], options, allowPositionals: true });
    return { values: values as Record<string, string | boolean | undefined>, positionals };
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}

function isFormat(text: unknown): text is Format {
  return FORMATS.some((format) => format === text);
}
