import type { ReportedApp, Trouble } from '../../protocol/report.ts';
import { alignedRows } from '../../text/aligned-rows.ts';
import { durationText } from '../../text/durations.ts';
import { printable } from '../../text/printable.ts';
import { isAppAsWanted, isWarning, type WorkerStatus } from './status.ts';

/** Lines of a failed container's log that are shown. */
const LOG_LINES = 10;

/** Returns the state of a device as text for a terminal, for the people at it. `now`: seconds since the Unix epoch. */
export function renderStatus(status: WorkerStatus, now: number): string {
  const sections = [
    headLines(status, now),
    appLines(status, now),
    containerLines(status, now),
    problemLines(status.problems, now),
  ];
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.map(printable).join('\n'))
    .join('\n\n')}\n`;
}

function headLines(status: WorkerStatus, now: number): string[] {
  const { hostname, device_group, worker, pid, uptime, revision } = status;
  const engine = worker.engine === null ? 'not reached' : `${worker.engine}, API ${worker.api}`;
  return alignedRows([
    ['Device', `${hostname} in the device group ${device_group}`],
    ['Worker', `${worker.version}, process ${pid}, started ${durationText(uptime)} ago`],
    ['Engine', engine],
    ['Manager', managerText(status, now)],
    ['Revision', revision ?? 'unknown'],
    ['State', stateText(status, now)],
  ]);
}

function managerText({ manager }: WorkerStatus, now: number): string {
  const { address, last_good_poll, error, next_poll } = manager;
  const last =
    last_good_poll === null ? 'no good answer yet' : `answered ${durationText(now - last_good_poll)} ago`;
  const next = next_poll === null ? '' : `, asked again in ${durationText(next_poll - now)}`;
  return `${address}, ${last}${next}${error === null ? '' : `; last error: ${error}`}`;
}

function stateText(status: WorkerStatus, now: number): string {
  const { apps, applied, ids, problems, manager } = status;
  if (isEngineAway(status)) return 'waits for the container engine';
  if (applied === null && ids.device_group_id === null)
    return 'does not know yet what to run: waits for the manager';
  const right = apps.filter(isAppAsWanted).length;
  const all = apps.length === 0 ? 'the device group has no apps' : 'everything as wanted';
  const text = right < apps.length ? `${right} of ${apps.length} apps as wanted` : all;
  const { last_good_poll: last } = manager;
  if (manager.error !== null)
    return `${text} by the manager ${last === null ? 'before this worker started' : `${durationText(now - last)} ago`}`;
  const notes = [...problems, ...apps.flatMap(({ error }) => error ?? [])];
  if (right < apps.length || notes.length === 0) return text;
  return `${text}, but see the ${notes.every(isWarning) ? 'warnings' : 'problems'}`;
}

function isEngineAway({ worker, problems }: WorkerStatus): boolean {
  return worker.engine === null || problems.some(({ code }) => code === 'engine-unavailable');
}

/** The heading of states: with their age, if the engine cannot be asked how things are now. */
function stateHeading(status: WorkerStatus, now: number): string {
  const { looked_at } = status;
  return isEngineAway(status) && looked_at !== null ? `STATE ${durationText(now - looked_at)} AGO` : 'STATE';
}

function appLines(status: WorkerStatus, now: number): string[] {
  const { apps } = status;
  if (apps.length === 0) return [];
  const rows = apps.map((app) => [
    app.name,
    app.state,
    app.wanted === 0 ? String(app.running) : `${app.running} of ${app.wanted}`,
    // An app that left the group, and is kept for a while, is wanted by no id.
    app.wanted_id === 0 ? '-' : String(app.wanted_id),
    app.running_id === null ? '-' : String(app.running_id),
    imageText(app),
  ]);
  const [head = '', ...lines] = alignedRows([
    ['APP', stateHeading(status, now), 'CONTAINERS', 'WANTED ID', 'RUNNING ID', 'IMAGE'],
    ...rows,
  ]);
  return [head, ...apps.flatMap((app, index) => [lines[index] ?? '', ...errorLines(app, now)])];
}

/** The name and a short digest. */
function imageText({ image, digest }: ReportedApp): string {
  if (image === null) return '-';
  return shortDigest(digest === null || image.includes('@') ? image : `${image}@${digest}`);
}

function shortDigest(image: string): string {
  return image.replace(/(sha256:[0-9a-f]{12})[0-9a-f]{52}/, '$1');
}

function errorLines({ name, state, error }: ReportedApp, now: number): string[] {
  if (error === null) return [];
  const retry = `holdfast worker retry ${name}`;
  const hint = state === 'rolled_back' ? `not tried again before a higher id; to try it now: ${retry}` : null;
  const log = (error.log ?? []).slice(-LOG_LINES).map((line) => `    | ${line}`);
  return [`  ${troubleText(error, now, hint)}`, ...log];
}

function troubleText(trouble: Trouble, now: number, hint: string | null): string {
  const { code, text, since, attempts, next_try } = trouble;
  const next = next_try === null ? hint : `next try in ${durationText(next_try - now)}`;
  const parts = [
    `${isWarning(trouble) ? 'warning: ' : ''}${code} for ${durationText(now - since)}`,
    attempts > 1 ? `, ${attempts} attempts` : '',
    `: ${text}`,
    next === null ? '' : `; ${next}`,
  ];
  return parts.join('');
}

function containerLines(status: WorkerStatus, now: number): string[] {
  const { containers } = status;
  if (containers.length === 0) return [];
  const rows = containers.map(({ name, state, health, restarts, image, id }) => [
    name,
    state,
    health ?? '-',
    String(restarts),
    id.slice(0, 12),
    shortDigest(image),
  ]);
  return alignedRows([
    ['CONTAINER', stateHeading(status, now), 'HEALTH', 'RESTARTS', 'ID', 'IMAGE'],
    ...rows,
  ]);
}

function problemLines(problems: readonly Trouble[], now: number): string[] {
  if (problems.length === 0) return [];
  return ['PROBLEMS', ...problems.map((problem) => `  ${troubleText(problem, now, null)}`)];
}
