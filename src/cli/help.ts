import { settingsHelp } from '../config/help.ts';
import { SETTINGS } from '../settings.ts';
import { COMMAND_LIST, type Command, type CommandOption, optionText } from './commands.ts';

/** Returns the help for a command or, without one, the overview of all commands and settings. */
export function helpText(command?: Command): string {
  if (command === undefined) return overview();
  const { name, summary, operand, options, details, examples = [] } = command;
  const rows = [
    ...(operand === undefined ? [] : [[operand.name.replace(/[[\]]/g, ''), operand.meaning] as const]),
    ...options.map((option) => [optionLabel(option), option.meaning] as const),
    ['--help', 'show this'] as const,
  ];
  const parts = [
    `holdfast ${name}: ${summary}`,
    `Usage\n  ${usageOf(command)}`,
    columns(rows),
    details.join('\n'),
    ...(examples.length === 0 ? [] : [`Examples\n${columns(examples)}`]),
    `Exit codes\n${exitCodes(command)}`,
    ...(command.settings === undefined ? [] : [settingsHelp(command.settings, name).trimEnd()]),
  ];
  return `${parts.join('\n\n')}\n`;
}

function optionLabel(option: CommandOption): string {
  return option.short === undefined ? optionText(option) : `-${option.short}, ${optionText(option)}`;
}

function overview(): string {
  const commands = COMMAND_LIST.map((command) => [usageOf(command, command.brief), command.summary] as const);
  const others = [
    ['holdfast COMMAND --help', 'what a command takes, and its exit codes'],
    ['holdfast --version', 'the version'],
  ] as const;
  return `holdfast: a manager for container fleets whose configuration lives in git

Usage
${columns([...commands, ...others])}

validate and plan need no server and no store. The only settings they read are DESIRED_STATE and DEFAULT_NETWORKS.
FOLDER defaults to DESIRED_STATE. REVISION, the commit that plan compares with, defaults to HEAD.
FORMAT is text (for people), json (for programs) or github (workflow annotations); plan also has markdown (for pull requests).

Examples
${columns(COMMAND_LIST.flatMap(({ examples = [] }) => examples))}

Exit codes
  0  no problems
  1  problems found; what that means for a command is in its own help
  2  wrong usage or settings; no such folder, revision or object
  3  the command itself failed

${settingsHelp(SETTINGS, 'serve')}`;
}

function usageOf({ name, operand, options, settings }: Command, brief?: string): string {
  const whole = options.map((option) => `[${optionText(option)}]`);
  const parts = [
    ...(operand === undefined ? [] : [operand.name]),
    ...(brief === undefined ? whole : [brief]),
    ...(settings === undefined ? [] : ['[--flag VALUE ...]']),
  ];
  return ['holdfast', name, ...parts].join(' ');
}

function exitCodes({ problems, settings }: Command): string {
  const rows = [
    ['0', settings === undefined ? 'no problems' : 'stopped by a signal'] as const,
    ...(problems === undefined ? [] : [['1', problems] as const]),
    ['2', 'wrong usage or settings'] as const,
    ['3', 'the command itself failed'] as const,
  ];
  return rows.map(([code, meaning]) => `  ${code}  ${meaning}`).join('\n');
}

/** The width of the first of two columns. */
const WIDTH = 60;

/** Lays out two columns; what is too wide for the first one has its meaning on the next line. */
function columns(rows: readonly (readonly [string, string])[]): string {
  const fitting = rows.map(([left]) => left.length).filter((length) => length <= WIDTH);
  const width = Math.max(...fitting, 0);
  return rows
    .map(([left, right]) => {
      const gap = left.length > width && right !== '' ? `\n${' '.repeat(width + 2)}` : '';
      return `  ${left.padEnd(width)}${gap}  ${right}`.trimEnd();
    })
    .join('\n');
}
