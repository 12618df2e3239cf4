import { parseArgs } from 'node:util';
import { withoutValue } from '../../settings/read.ts';
import { closestName } from '../../suggest.ts';
import { type Command, type CommandOption, optionText } from './command.ts';
import { UsageError } from './io.ts';
import type { Format } from './report.ts';

/** The parsed arguments of a command. `F`: the formats that it has. */
export interface CommandArguments<F extends string = Format> {
  /** What stands beside the options, such as a folder. */
  operand: string | undefined;
  /** All of them, of a command that takes several. */
  operands: readonly string[];
  format: F;
  /** The values of the command's own options. */
  options: Readonly<Record<string, string | boolean | undefined>>;
}

/** Parses `[OPERAND] [--format FORMAT]` and a command's own options. Throws a UsageError that says what is wrong. */
export function parseCommand<F extends string = Format>(
  command: Command,
  args: readonly string[],
): CommandArguments<F> {
  const { values, positionals } = parse(command, args);
  const { format = 'text', ...options } = values;
  const noun = operandName(command).toLowerCase();
  if (positionals.length > 1 && command.operand?.isRepeated !== true)
    throw new UsageError(`only one ${noun} can be given, not ${positionals.join(' and ')}`);
  const formats = command.options.find(({ name }) => name === 'format')?.choices ?? ['text'];
  if (!formats.includes(String(format)))
    throw new UsageError(`--format must be one of ${formats.join(', ')}`);
  return { operand: positionals[0], operands: positionals, format: format as F, options };
}

/** The operand's placeholder without brackets: `FOLDER`. */
function operandName({ operand }: Command): string {
  return operand?.name.replace(/[[\]]/g, '') ?? 'argument';
}

/**
 * Parses leniently and then checks each option, because the errors of Node's parser do not say what the command takes.
 */
function parse(
  command: Command,
  args: readonly string[],
): { values: Record<string, string | boolean | undefined>; positionals: string[] } {
  const options = Object.fromEntries(
    command.options.map(({ name, short, value }: CommandOption) => [
      name,
      { type: value === undefined ? ('boolean' as const) : ('string' as const), ...(short && { short }) },
    ]),
  );
  const parsed = parseArgs({ args: [...args], options, allowPositionals: true, strict: false, tokens: true });
  for (const token of parsed.tokens)
    if (token.kind === 'option') checkOption(token, args[token.index] ?? '', command);
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
  command: Command,
): void {
  const known: readonly CommandOption[] = command.options;
  const option = known.find((candidate) => candidate.name === name);
  if (option === undefined) {
    // Of `-format=json`, the parser's name is `-f`.
    const given = withoutValue(argument);
    const hint = hintFor(given, known);
    throw new UsageError(
      `${given} is not an option of ${command.name}${hint === '' ? `, which takes ${usageList(command)}` : hint}`,
    );
  }
  // A dash alone is the standard input.
  const hasValue = value !== undefined && (inlineValue === true || value === '-' || !value.startsWith('-'));
  if (option.value !== undefined && !hasValue)
    throw new UsageError(`${rawName} needs a value: ${optionText(option)}`);
  if (option.value === undefined && value !== undefined) throw new UsageError(`${rawName} takes no value`);
}

function usageList({ operand, options }: Command): string {
  const parts = [...(operand === undefined ? [] : [operand.name]), ...options.map(optionText)];
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} and ${parts.slice(-1)}`;
}

function hintFor(given: string, known: readonly CommandOption[]): string {
  // Many other programs have this option.
  if (/^--?json$/.test(given)) return '; JSON is --format json';
  const names = known.map(({ name }) => name);
  const closest = closestName(given, names);
  return closest === null ? '' : `; did you mean --${closest}?`;
}
