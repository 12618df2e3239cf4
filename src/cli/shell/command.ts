import type { SettingTable } from '../../settings/setting.ts';
import { FORMATS } from './report.ts';

/** An option of a command; a switch has no value. */
export interface CommandOption {
  name: string;
  /** Its letter, for `-n`. */
  short?: string;
  /** The placeholder of its value in the help. */
  value?: string;
  meaning: string;
  /** The values that it takes, if they are few, or the words among them, which completion offers. */
  choices?: readonly string[];
}

/** What a command takes besides options. */
export interface Operand {
  /** Its placeholder in the help; in brackets if it may be left out. */
  name: string;
  meaning: string;
  /** The values that it takes; without them, it is a folder. */
  choices?: readonly string[];
  /** Whether it may be given several times. */
  isRepeated?: boolean;
}

/** What the help, the parser and the completion of shells know of a command. */
export interface Command {
  name: string;
  /** What it does, in a line that continues "holdfast plan: ". */
  summary: string;
  operand?: Operand;
  options: readonly CommandOption[];
  /** The settings that are options as well. */
  settings?: SettingTable;
  /** What else there is to know: one paragraph, and lines that begin with a space and stay as they are. */
  details: readonly string[];
  examples?: readonly (readonly [command: string, meaning: string])[];
  /** What 1 means; without it, the command does not exit with 1. */
  problems?: string;
}

export const FOLDER: Operand = {
  name: '[FOLDER]',
  meaning: 'the folder that contains apps/ and device-groups/; DESIRED_STATE by default',
};
export const WATCH: CommandOption = {
  name: 'watch',
  meaning: 'run again after each change of a file, until Ctrl-C',
};

export const FORMAT: CommandOption = {
  name: 'format',
  value: 'FORMAT',
  meaning: 'text (for people), json (for programs) or github (workflow annotations)',
  choices: FORMATS,
};

export const DESIRED_STATE_OPTION: CommandOption = {
  name: 'desired-state',
  value: 'FOLDER',
  meaning: FOLDER.meaning,
};
export const SERVER: CommandOption = {
  name: 'server',
  value: 'ADDRESS',
  meaning:
    'the http:// or https:// address of a manager to ask; by default HOLDFAST, else what ~/.config/holdfast.yaml names',
};
export const TOKEN_FILE: CommandOption = {
  name: 'token-file',
  value: 'FILE',
  meaning: 'a file with an API token; by default HOLDFAST_TOKEN, else CREDENTIALS',
};
export const MANAGER_FILE: readonly string[] = [
  "A manager's credentials are the first of: --token-file; HOLDFAST_TOKEN; CREDENTIALS (user:password); in ~/.config/holdfast.yaml",
  '(or $XDG_CONFIG_HOME/holdfast.yaml), credentials or token_file, for the server that is named there.',
];
export const ASKING: readonly string[] = [
  'Needs no server: with --desired-state, or if no manager is named, it reads git alone. A manager also has operations, refusals',
  'and ids.',
  ...MANAGER_FILE,
];
export const TEXT_OR_JSON: CommandOption = {
  name: 'format',
  value: 'FORMAT',
  meaning: 'text (for people) or json (for programs)',
  choices: ['text', 'json'],
};

export const REASON: CommandOption = { name: 'reason', value: 'TEXT', meaning: 'why, for the history' };
export const DEVICE: CommandOption = { name: 'device', value: 'DEVICE', meaning: 'the name of the device' };
export const DRY_RUN: CommandOption = {
  name: 'dry-run',
  meaning: 'show what would happen, and change nothing',
};

/** Returns `--format FORMAT`, or `--exit-code`. */
export function optionText({ name, value }: CommandOption): string {
  return value === undefined ? `--${name}` : `--${name} ${value}`;
}
