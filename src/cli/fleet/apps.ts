import { INVENTORY_SORTS, INVENTORY_STATES, InventoryAppPage } from '../../protocol/inventory.ts';
import { durationText } from '../../text/durations.ts';
import { escapeWorkflowCommands } from '../../text/printable.ts';
import { readFrom, requireManager } from '../manager/replies.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode } from '../shell/io.ts';
import { painter } from '../shell/report.ts';
import { requireChoice } from './devices.ts';
import { type Columns, table } from './status-text.ts';

const PAGE = 1000;

/** Runs `holdfast apps`: lists the apps, with how many devices have each. */
export async function apps(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { format, options } = parseCommand<'text' | 'json'>(COMMANDS.apps, args);
  requireChoice('state', options, INVENTORY_STATES);
  requireChoice('sort', options, INVENTORY_SORTS);
  const manager = requireManager(options, io);
  const query = new URLSearchParams({ page_size: String(PAGE) });
  for (const name of ['group', 'state', 'sort'])
    if (options[name] !== undefined) query.set(name, String(options[name]));
  const rows: InventoryAppPage['apps'] = [];
  for (let next: string | null = ''; next !== null; ) {
    if (next !== '') query.set('after', next);
    const page: InventoryAppPage = await readFrom(manager, `inventory/apps?${query}`, InventoryAppPage);
    rows.push(...page.apps);
    next = page.next;
  }
  if (format === 'json') io.write(`${escapeWorkflowCommands(JSON.stringify({ apps: rows }, null, 2))}\n`);
  else if (rows.length === 0) io.writeError('No app matches.\n');
  else await io.page(`${table(columnsAt(io.now()), rows, painter(io.hasColors)).slice(1).join('\n')}\n`);
  return EXIT.ok;
}

function columnsAt(now: number): Columns<InventoryAppPage['apps'][number]> {
  return [
    ['APP', ({ name }) => name],
    ['IMAGE', ({ container_image: image }) => image],
    ['STATE', ({ running, problem }) => `${running ? 'running' : 'stopped'}${problem ? ', held back' : ''}`],
    ['GROUPS', ({ groups }) => String(groups)],
    ['DEVICES', ({ devices }) => String(devices)],
    ['CURRENT', ({ current }) => String(current)],
    ['BEHIND', ({ behind }) => String(behind)],
    ['FAILED', ({ failed }) => String(failed)],
    ['SILENT', ({ silent }) => String(silent)],
    [
      'CHANGED',
      ({ last_change: last }) =>
        last === null ? '-' : `${durationText((now - Date.parse(last.at)) / 1000)} ago by ${last.actor}`,
    ],
  ];
}
