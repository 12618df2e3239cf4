import { parseArgs } from 'node:util';
import { withoutValue } from '../config/read.ts';
import { closestName } from '../suggest.ts';
import { type Command, type CommandOption, optionText } from './commands.ts';
import { UsageError } from './io.ts';
import { FORMATS, type Format } from './report.ts';

/** The parsed arguments of `validate`, `plan` or `import`. */
export interface CommandArguments {
  folder: string | undefined;
  format: Format;
  /** The values of the command's own options. */
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Parses `[FOLDER] [--format FORMAT]` and a command's own options. Throws a UsageError that says what is wrong. */
export function parseCommand(command: Command, args: readonly string[]): CommandArguments {
  const { values, positionals } = parse(command.name, args, command.options);
  const { format = 'text', ...options } = values;
  if (positionals.length > 1)
    throw new UsageError(`only one folder can be given, not ${positionals.join(' and ')}`);
  if (!isFormat(format)) throw new UsageError(`--format must be one of ${FORMATS.join(', ')}`);
  return { folder: positionals[0], format, options };
}

/**
 * Parses leniently and then checks each option, because the errors of Node's parser do not say what the command takes.
 */
function parse(
  command: string,
  args: readonly string[],
  known: readonly CommandOption[],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  const options = Object.fromEntries(
    known.map(({ name, value }) => [name, { type: value === undefined ? 'boolean' : 'string' } as const]),
  );
  const parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of parsed.tokens)
    if (token.kind === 'option') checkOption(token, args[token.index] ?? '', command, known);
  return { values: parsed.values, positionals: parsed.positionals };
}

interface GivenOption {
  name: string;
  rawName: string;
  value: string | undefined;
  inlineValue: boolean | undefined;
}

function checkOption(
  { name, rawName, value, inlineValue }: GivenOption,
  argument: string,
  command: string,
  known: readonly CommandOption[],
): void {
  const option = known.find((candidate) => candidate.name === name);
  if (option === undefined) {
    // Of `-format=json`, the parser's name is `-f`.
    const given = withoutValue(argument);
    throw new UsageError(
      `${given} is not an option of ${command}, which takes ${usageList(known)}${hintFor(given, known)}`,
    );
  }
  const hasValue = value !== undefined && (inlineValue === true || !value.startsWith('-'));
  if (option.value !== undefined && !hasValue)
    throw new UsageError(`${rawName} needs a value: ${optionText(option)}`);
  if (option.value === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`);
}

function usageList(known: readonly CommandOption[]): string {
  const last = known.slice(-1).map(optionText);
  return `${['[FOLDER]', ...known.slice(0, -1).map(optionText)].join(', ')} and ${last}`;
}

function hintFor(given: string, known: readonly CommandOption[]): string {
  // Many other programs have this option.
  if (/^--?json$/.test(given)) return '; JSON is --format json';
  const names = known.map(({ name }) => name);
  const closest = closestName(given, names);
  return closest === null ? '' : `; did you mean --${closest}?`;
}

function isFormat(text: unknown): text is Format {
  return FORMATS.some((format) => format === text);
}
