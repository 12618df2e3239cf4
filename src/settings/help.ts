import { hanging, wrap } from '../text/wrap.ts';
import { fileVariableOf, flagOf } from './read.ts';
import { type SettingTable, shownDefault } from './setting.ts';

/**
 * Returns the part of a command's help that explains its settings, in lines of at most `width` characters: the rules, then
 * each with flag, default and meaning.
 */
export function settingsHelp(table: SettingTable, command: string, width: number): string {
  const secrets = Object.keys(table).filter((name) => fileVariableOf(table, name) !== null);
  const rules = [
    `Settings: environment variables, or flags of ${command}, which win. An empty variable is one that is not set.`,
    `A secret can also be in a file: set NAME_FILE to its path (${secrets.join(', ')}).`,
  ];
  const lines = Object.entries(table).flatMap(([name, setting]) => {
    const first = `  ${name}, --${flagOf(name)} (${shownDefault(setting)})`;
    return [first, ...hanging('', setting.meaning, 6, width)];
  });
  return `${[...rules.flatMap((rule) => wrap(rule, width)), '', ...lines].join('\n')}\n`;
}
