import { parseArgs } from 'node:util';
import { closestName } from '../suggest.ts';
import { UsageError } from './io.ts';
import { FORMATS, type Format } from './report.ts';

/** The arguments that `validate`, `plan` and `import` share, and the values of a command's own options. */
export interface CommandArguments {
  folder: string | undefined;
  format: Format;
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** An option of one command: its name, and the word that stands for its value in the help; a switch takes none. */
export interface CommandOption {
  name: string;
  value?: string;
}

const FORMAT: CommandOption = { name: 'format', value: 'FORMAT' };

/** Parses `[FOLDER] [--format FORMAT]` and a command's own options. Throws a UsageError that says what is wrong. */
export function parseCommand(
  command: string,
  args: readonly string[],
  own: readonly CommandOption[],
): CommandArguments {
  const { values, positionals } = parse(command, args, [...own, FORMAT]);
  const { format = 'text', ...options } = values;
  if (positionals.length > 1)
    throw new UsageError(`only one folder can be given, not ${positionals.join(' and ')}`);
  if (!isFormat(format)) throw new UsageError(`--format must be one of ${FORMATS.join(', ')}`);
  return { folder: positionals[0], format, options };
}

/**
 * Checks each option itself: what Node's parser says of a wrong one is about Node's rules, and not about this command.
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
  for (const token of parsed.tokens) if (token.kind === 'option') checkOption(token, command, known);
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
  command: string,
  known: readonly CommandOption[],
): void {
  const option = known.find((one) => one.name === name);
  if (option === undefined)
    throw new UsageError(
      `${rawName} is not an option of ${command}, which takes ${takenBy(known)}${hintFor(rawName, known)}`,
    );
  const isGiven = value !== undefined && (inlineValue === true || !value.startsWith('-'));
  if (option.value !== undefined && !isGiven)
    throw new UsageError(`${rawName} needs a value: ${shown(option)}`);
  if (option.value === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`);
}

function takenBy(known: readonly CommandOption[]): string {
  const last = known.slice(-1).map(shown);
  return `${['[FOLDER]', ...known.slice(0, -1).map(shown)].join(', ')} and ${last}`;
}

function shown({ name, value }: CommandOption): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}

function hintFor(rawName: string, known: readonly CommandOption[]): string {
  // Many other programs have this option.
  if (rawName === '--json') return '; JSON is --format json';
  const names = known.map(({ name }) => name);
  const closest = closestName(rawName, names);
  return closest === null ? '' : `; did you mean --${closest}?`;
}

function isFormat(text: unknown): text is Format {
  return FORMATS.some((format) => format === text);
}
