import { flagsOf, isFlagAmong, withoutValue } from '../../settings/read.ts';
import type { SettingTable } from '../../settings/setting.ts';

/** The arguments of a command, divided. */
export interface DividedArguments {
  /** The switches that are given, without dashes. */
  switches: ReadonlySet<string>;
  /** All others: flags of settings with their values, and what is not expected. */
  rest: string[];
}

/** Takes the switches (`--json`) out of arguments; what follows the flag of a setting is its value, whatever it is. */
export function divideArguments(
  args: readonly string[],
  switches: readonly string[],
  table: SettingTable,
): DividedArguments {
  const flags = flagsOf(table);
  const found = new Set<string>();
  const rest: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const argument = args[index] ?? '';
    const name = argument.slice(2);
    if (argument.startsWith('--') && switches.includes(name)) {
      found.add(name);
      continue;
    }
    rest.push(argument);
    const takesNext = isFlagAmong(flags, argument) && withoutValue(argument) === argument;
    if (takesNext && index + 1 < args.length) rest.push(args[++index] ?? '');
  }
  return { switches: found, rest };
}
