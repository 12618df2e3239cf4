import { fileVariableOf, flagOf } from '../../settings/read.ts';
import type { SettingTable } from '../../settings/setting.ts';
import type { Command, CommandOption } from './command.ts';
import { COMMAND_LIST, COMMAND_NAMES, COMMANDS } from './commands.ts';
import { UsageError } from './io.ts';

const SCRIPTS: Readonly<Record<string, () => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

/** Returns the script that completes the command line in a shell, made from the tables that the help is made from. */
export function completion(args: readonly string[]): string {
  const [shell = '', ...rest] = args;
  if (!Object.hasOwn(SCRIPTS, shell) || rest.length > 0) {
    const { choices } = COMMANDS.completion.operand;
    throw new UsageError(`completion takes the name of one shell: ${choices.join(', ')}`);
  }
  return (SCRIPTS[shell] as () => string)();
}

const HELP: CommandOption = { name: 'help', meaning: 'show what the command takes' };

/** The options of a command, with the flags of its settings. */
function optionsOf({ options, settings = {} }: Command): CommandOption[] {
  return [...options, ...flagsOf(settings), HELP];
}

function flagsOf(settings: SettingTable): CommandOption[] {
  return Object.entries(settings).flatMap(([name, { meaning }]) => {
    const file = fileVariableOf(settings, name);
    const flag = { name: flagOf(name), value: 'VALUE', meaning };
    // Not twice if the setting of the file is one by itself.
    if (file === null || Object.hasOwn(settings, file)) return [flag];
    return [flag, { name: flagOf(file), value: 'FILE', meaning: `path of a file with ${name}` }];
  });
}

/** Puts a text into single quotes, for every shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A statement of bash that completes the values of a command's options; empty if they have none. */
function bashChoices({ options }: Command): string {
  const cases = options.flatMap(({ name, choices = [] }) =>
    choices.length === 0 ? [] : [`--${name}) words=${quoted(choices.join(' '))}; options= ;;`],
  );
  return cases.length === 0 ? '' : `\n      case "$previous" in ${cases.join(' ')} esac`;
}

function bashScript(): string {
  const cases = COMMAND_LIST.map(
    (command) => `    ${quoted(command.name)}*)
      options=${quoted(
        optionsOf(command)
          .map(({ name }) => `--${name}`)
          .join(' '),
      )}
      words=${quoted((command.operand?.choices ?? []).join(' '))}${bashChoices(command)} ;;`,
  );
  return `# Completes holdfast in bash: source <(holdfast completion bash)
_holdfast() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} options= words=
  if [[ $current == '=' ]]; then current=
  elif [[ $previous == '=' ]]; then previous=\${COMP_WORDS[COMP_CWORD-2]}; fi
  case "\${COMP_WORDS[*]:1:COMP_CWORD-1} " in
${cases.join('\n')}
    help*) words=${quoted(COMMAND_NAMES.join(' '))} ;;
  esac
  if (( COMP_CWORD == 1 )); then options='--help --version'; words=${quoted([...COMMAND_NAMES, 'help'].join(' '))}; fi
  if [[ $current == -* ]]; then words=$options; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _holdfast holdfast
`;
}

function zshScript(): string {
  const described = (rows: readonly (readonly [string, string])[]): string =>
    rows.map(([name, meaning]) => quoted(`${name}:${meaning}`)).join(' ');
  const cases = COMMAND_LIST.map((command) => {
    const specs = [...optionsOf(command).map(zshOption), ...zshOperand(command)].map(quoted);
    return `    ${quoted(command.name)}) _arguments ${specs.join(' ')} ;;`;
  });
  const first = [
    ...COMMAND_LIST.map(({ name, summary }) => [name, summary] as const),
    ['help', 'show the help of a command'] as const,
  ];
  return `#compdef holdfast
# Completes holdfast in zsh: source <(holdfast completion zsh), below compinit
_holdfast() {
  local -a commands=(${described(first)})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words; (( CURRENT-- ))
  case $command in
${cases.join('\n')}
    help) _describe command commands ;;
  esac
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast "$@"; else compdef _holdfast holdfast; fi
`;
}

/** An option as `_arguments` of zsh takes it; brackets and colons in its meaning would end it. */
function zshOption({ name, value, meaning, choices }: CommandOption): string {
  const text = `[${meaning.replace(/[[\]\\]/g, '\\$&')}]`;
  if (value === undefined) return `--${name}${text}`;
  return `--${name}=${text}:${value}:${choices === undefined ? '_files' : `(${choices.join(' ')})`}`;
}

function zshOperand({ operand }: Command): string[] {
  if (operand === undefined) return [];
  return [
    `${operand.isRepeated ? '*' : '1'}:${operand.name.replace(/[[\]]/g, '')}:${operand.choices === undefined ? '_files -/' : `(${operand.choices.join(' ')})`}`,
  ];
}

function fishScript(): string {
  const lines = COMMAND_LIST.flatMap((command) => {
    const inCommand = quoted(`__fish_seen_subcommand_from ${command.name}`);
    return [
      `-n __fish_use_subcommand -a ${command.name} -d ${quoted(command.summary)}`,
      ...fishOperand(command).map((operand) => `-n ${inCommand} ${operand}`),
      ...optionsOf(command).map((option) => `-n ${inCommand} ${fishOption(option)}`),
    ];
  });
  const help = [
    `-n __fish_use_subcommand -a help -d 'show the help of a command'`,
    `-n '__fish_seen_subcommand_from help' -a ${quoted(COMMAND_NAMES.join(' '))}`,
    `-n __fish_use_subcommand -l version -d 'show the version'`,
    `-n __fish_use_subcommand -l help -d 'show the help'`,
  ];
  return `# Completes holdfast in fish: holdfast completion fish | source
complete -c holdfast -f
${[...lines, ...help].map((line) => `complete -c holdfast ${line}`).join('\n')}
`;
}

function fishOperand({ operand }: Command): string[] {
  if (operand === undefined) return [];
  return [`-a ${quoted(operand.choices?.join(' ') ?? '(__fish_complete_directories)')}`];
}

function fishOption({ name, value, meaning, choices }: CommandOption): string {
  const taken =
    value === undefined ? '' : choices === undefined ? ' -r -F' : ` -x -a ${quoted(choices.join(' '))}`;
  return `-l ${name}${taken} -d ${quoted(meaning)}`;
}
