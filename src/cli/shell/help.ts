import { settingsHelp } from '../../settings/help.ts';
import { hanging, twoColumns, USUAL_WIDTH, wrap } from '../../text/wrap.ts';
import { type Command, type CommandOption, optionText } from './command.ts';
import { COMMANDS } from './commands.ts';

/** Commands that belong together: those of every day have a line each, the others share one. */
interface Group {
  title: string;
  daily: readonly Command[];
  others: readonly Command[];
}

const { validate, plan, history, show, rollback, serve, worker, completion } = COMMANDS;
const { status, apps, devices, restart, start, stop, prune, logs, retry } = COMMANDS;
const GROUPS: readonly Group[] = [
  {
    title: 'The files of the fleet, and their past',
    daily: [validate, plan, history, show, rollback],
    others: [COMMANDS.import],
  },
  {
    title: 'The fleet as it is',
    daily: [status, apps, devices],
    others: [logs, restart, start, stop, prune, retry],
  },
  { title: 'The programs', daily: [serve, worker], others: [completion] },
];

const MORE = [
  ['holdfast COMMAND --help', 'options, settings, examples and exit codes'],
  ['holdfast --version', 'the version'],
] as const;

/** Returns the help for a command or, without one, the overview of all commands, in lines of at most `width` characters. */
export function helpText(command?: Command, width = USUAL_WIDTH): string {
  if (command === undefined) return overview(width);
  const { name, summary, operand, options, details, examples = [], settings } = command;
  const rows = [
    ...(operand === undefined ? [] : [[operand.name.replace(/[[\]]/g, ''), operand.meaning] as const]),
    ...options.map((option) => [optionLabel(option), option.meaning] as const),
    ['--help', 'show this'] as const,
  ];
  const parts = [
    wrap(`holdfast ${name}: ${summary}`, width).join('\n'),
    `Usage\n${usageOf(command, width)}`,
    twoColumns(rows, width),
    detailsText(details, width),
    ...(examples.length === 0 ? [] : [`Examples\n${examplesText(examples, width)}`]),
    `Exit codes\n${twoColumns(exitCodes(command), width)}`,
    ...(settings === undefined ? [] : [settingsHelp(settings, name, width).trimEnd()]),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function optionLabel(option: CommandOption): string {
  return option.short === undefined ? optionText(option) : `-${option.short}, ${optionText(option)}`;
}

function overview(width: number): string {
  const label = ({ name, operand }: Command): string => [name, operand?.name ?? ''].join(' ').trim();
  const widest = Math.max(...GROUPS.flatMap(({ daily }) => daily.map((command) => label(command).length)));
  const groups = GROUPS.map(({ title, daily, others }) => {
    const rows = [
      ...daily.map((command) => [label(command).padEnd(widest), command.summary] as const),
      ['also'.padEnd(widest), others.map(({ name }) => name).join(', ')] as const,
    ];
    return `${title}\n${twoColumns(rows, width)}`;
  });
  const title = 'holdfast: a manager for container fleets whose configuration lives in git';
  return `${wrap(title, width).join('\n')}

${groups.join('\n\n')}

${twoColumns(MORE, width)}
`;
}

function usageOf({ name, operand, options, settings }: Command, width: number): string {
  const parts = [
    ...(operand === undefined ? [] : [operand.isRepeated ? operand.name.replace(']', '...]') : operand.name]),
    ...options.map((option) => `[${optionText(option)}]`),
    ...(settings === undefined ? [] : ['[--flag VALUE ...]']),
  ];
  const first = `  holdfast ${name} `;
  // An option and its value stay together.
  const text = parts.map((part) => part.replaceAll(' ', '\u00a0')).join(' ');
  return hanging(first, text, first.length, width).join('\n').replaceAll('\u00a0', ' ');
}

/** Lines that begin with a space stay as they are; all others are one paragraph. */
function detailsText(details: readonly string[], width: number): string {
  const isFixed = (line: string): boolean => line.startsWith(' ');
  const text = details.filter((line) => !isFixed(line)).join(' ');
  return [...(text === '' ? [] : wrap(text, width)), ...details.filter(isFixed)].join('\n');
}

function examplesText(examples: NonNullable<Command['examples']>, width: number): string {
  const lines = examples.flatMap(([command, meaning]) => [
    `  ${command}`,
    ...(meaning === '' ? [] : hanging('', meaning, 6, width)),
  ]);
  return lines.join('\n');
}

function exitCodes({ problems, settings }: Command): (readonly [string, string])[] {
  const well =
    settings !== undefined ? 'stopped by a signal' : problems === undefined ? 'done' : 'no problems';
  return [
    ['0', well],
    ...(problems === undefined ? [] : [['1', problems] as const]),
    ['2', 'wrong usage or settings; no such folder, revision or object'],
    ['3', 'the command itself failed'],
  ];
}
