import { DEVICE_STATES, DevicePage } from '../../protocol/device.ts';
import { escapeWorkflowCommands } from '../../text/printable.ts';
import { readFrom, requireManager } from '../manager/replies.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { painter } from '../shell/report.ts';
import { deviceColumns, table } from './status-text.ts';

const PAGE = 1000;
const FILTERS = ['group', 'state', 'app', 'worker'] as const;

/** Runs `holdfast devices`: lists the devices that match. */
export async function devices(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { format, options } = parseCommand<'text' | 'json'>(COMMANDS.devices, args);
  requireChoice('state', options, DEVICE_STATES);
  const manager = requireManager(options, io);
  const query = new URLSearchParams({ page_size: String(PAGE) });
  for (const name of FILTERS) if (options[name] !== undefined) query.set(name, String(options[name]));
  const rows: DevicePage['devices'] = [];
  for (let next: string | null = ''; next !== null; ) {
    if (next !== '') query.set('after', next);
    const page: DevicePage = await readFrom(manager, `devices?${query}`, DevicePage);
    rows.push(...page.devices);
    next = page.next;
  }
  if (format === 'json') io.write(`${escapeWorkflowCommands(JSON.stringify({ devices: rows }, null, 2))}\n`);
  else if (rows.length === 0) io.writeError('No device matches.\n');
  else await io.page(`${table(deviceColumns(io.now()), rows, painter(io.hasColors)).slice(1).join('\n')}\n`);
  return EXIT.ok;
}

/** Throws a UsageError if an option is given that has none of these values. */
export function requireChoice(
  name: string,
  options: Readonly<Record<string, string | boolean | undefined>>,
  choices: readonly string[],
): void {
  const value = options[name];
  if (value !== undefined && !choices.includes(String(value)))
    throw new UsageError(`--${name} must be one of ${choices.join(', ')}`);
}
