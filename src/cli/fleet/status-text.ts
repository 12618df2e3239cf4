import type { DeviceRow, GroupCounts } from '../../protocol/device.ts';
import { alignedRows } from '../../text/aligned-rows.ts';
import { durationText } from '../../text/durations.ts';
import { printable } from '../../text/printable.ts';
import type { Paint } from '../shell/report.ts';
import { count } from './judge-status.ts';
import type { FleetStatus } from './read-status.ts';

/** How many groups and incidents are shown. */
const MOST_GROUPS = 10;
const MOST_INCIDENTS = 5;

/** Returns how a fleet is, for people: what is applied, what is wrong, who lags; then the worst groups and devices. */
export function statusText(
  status: FleetStatus,
  reasons: readonly string[],
  now: number,
  paint: Paint,
): string {
  const worst = status.convergence.groups.filter(isLagging).sort((a, b) => lagOf(b) - lagOf(a));
  const lines = [
    appliedLine(status, now, paint),
    wrongLine(status, paint),
    laggingLine(status, paint),
    ...incidentLines(status, now),
    ...table(GROUP_COLUMNS, worst.slice(0, MOST_GROUPS), paint),
    ...(worst.length > MOST_GROUPS ? [`and ${count(worst.length - MOST_GROUPS, 'group')} more`] : []),
    ...table(deviceColumns(now), status.devices, paint),
    '',
    reasons.length === 0 ? paint('green', 'Fine.') : paint('red', `Not fine: ${reasons.join('; ')}.`),
  ];
  return `${lines.join('\n')}\n`;
}

function appliedLine({ summary }: FleetStatus, now: number, paint: Paint): string {
  const { fleet, state, revision_applied: revision, applied_at: at, subject, actor } = summary;
  const name = paint('bold', printable(fleet));
  if (revision === null) return `${name}: nothing is applied yet`;
  const by =
    subject === null ? '' : ` (${printable(subject)}${actor === null ? '' : `, by ${printable(actor)}`})`;
  const ago = at === null ? '' : ` ${agoText(at, now)}`;
  const prefix = state === 'applied' ? '' : `${paint('red', state)}; still `;
  return `${name}: ${prefix}applied ${revision.slice(0, 12)}${ago}${by}`;
}

function wrongLine({ summary, incidents }: FleetStatus, paint: Paint): string {
  if (summary.incidents === 0 && summary.problems === 0) return 'Nothing is wrong.';
  const parts = [
    ...(summary.problems > 0 ? [`${count(summary.problems, 'problem')} of files`] : []),
    ...(summary.incidents > 0
      ? [`${count(summary.incidents, 'incident')}, since ${incidents.at(-1)?.since ?? '?'}`]
      : []),
  ];
  return paint('red', `Wrong: ${parts.join('; ')}`);
}

function laggingLine({ convergence: { totals } }: FleetStatus, paint: Paint): string {
  const { devices, current, behind, failed, silent, unknown, expected } = totals;
  if (devices === 0) return 'No device is known yet.';
  const others = Object.entries({ behind, failed, silent, unknown, expected }).filter(
    ([, number]) => number > 0,
  );
  const rest = others.map(([state, number]) => `${number.toLocaleString('en')} ${state}`).join(', ');
  const text = `${current.toLocaleString('en')} of ${count(devices, 'device')} current`;
  return rest === '' ? `${text}.` : `${text}; ${paint('yellow', rest)}`;
}

function incidentLines({ incidents }: FleetStatus, now: number): string[] {
  if (incidents.length === 0) return [];
  const shown = incidents
    .slice(0, MOST_INCIDENTS)
    .map(({ since, text }) => `  ${agoText(since, now)}: ${printable(text)}`);
  const more = incidents.length - shown.length;
  return ['', ...shown, ...(more > 0 ? [`  and ${more} more: GET /api/v2/incidents`] : [])];
}

function isLagging({ devices, current }: GroupCounts): boolean {
  return devices > current;
}

function lagOf({ failed, behind, silent, unknown, expected }: GroupCounts): number {
  return failed * 1e6 + behind * 1e3 + silent + (unknown + expected) / 1e6;
}

/** The columns of a table: the heading of each, and what stands in it. */
export type Columns<Row> = readonly (readonly [heading: string, cell: (row: Row) => string])[];

const GROUP_COLUMNS: Columns<GroupCounts> = [
  ['GROUP', ({ group }) => group],
  ['DEVICES', ({ devices }) => String(devices)],
  ['CURRENT', ({ current }) => String(current)],
  ['BEHIND', ({ behind }) => String(behind)],
  ['FAILED', ({ failed }) => String(failed)],
  ['SILENT', ({ silent }) => String(silent)],
  ['UNKNOWN', ({ unknown }) => String(unknown)],
];

/** The columns of a list of devices. `now` is Unix milliseconds. */
export function deviceColumns(now: number): Columns<DeviceRow> {
  return [
    ['DEVICE', ({ device }) => device],
    ['GROUP', ({ device_group: group }) => group ?? '-'],
    ['STATE', ({ state, conflict }) => (conflict ? `${state}, two machines` : state)],
    ['FOR', ({ since }) => (since === null ? '-' : durationText((now - Date.parse(since)) / 1000))],
    ['WORKER', ({ worker }) => worker ?? '-'],
    ['WHY', whyOf],
  ];
}

/** Why a device is not as it should be; empty if it is. */
function whyOf({ state, failed, missing, last_seen: seen }: DeviceRow): string {
  if (state === 'failed')
    return failed.map(({ app, error }) => (app === null ? error : `${app}: ${error}`)).join('; ');
  if (state === 'behind') return `lacks ${missing.join(', ')}`;
  return state === 'silent' ? `last seen ${seen ?? 'never'}` : '';
}

/** Returns rows below their headings, after an empty line; nothing for no rows. */
export function table<Row>(columns: Columns<Row>, rows: readonly Row[], paint: Paint): string[] {
  if (rows.length === 0) return [];
  const cells = rows.map((row) => columns.map(([, cell]) => shortened(printable(cell(row)))));
  const [heading = '', ...lines] = alignedRows([columns.map(([name]) => name), ...cells]);
  return ['', paint('bold', heading), ...lines];
}

const LONGEST_CELL = 80;

function shortened(text: string): string {
  return text.length <= LONGEST_CELL ? text : `${text.slice(0, LONGEST_CELL - 1)}…`;
}

function agoText(at: string, now: number): string {
  return `${durationText((now - Date.parse(at)) / 1000)} ago`;
}
