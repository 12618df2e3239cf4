import { type SettingTable, shownDefault } from '../settings/setting.ts';
import { alignedRows } from '../text/aligned-rows.ts';
import { fileVariableOf, flagOf } from './read.ts';

/** Returns the part of a command's help that explains its settings: the rules, then each with flag, default and meaning. */
export function settingsHelp(table: SettingTable, command: string): string {
  const secrets = Object.keys(table).filter((name) => fileVariableOf(table, name) !== null);
  const rows = Object.entries(table).map(([name, setting]) => [
    name,
    `--${flagOf(name)}`,
    shownDefault(setting),
    setting.meaning,
  ]);
  const lines = alignedRows([['Setting', `flag of ${command}`, 'default', 'meaning'], ...rows]);
  return `Settings are environment variables; flags of ${command} override them, and an empty variable counts as unset.
A secret can be read from a file instead: set NAME_FILE to its path (${secrets.join(', ')}).

${lines.map((line) => `  ${line}`).join('\n')}
`;
}
