import {
  MAX_REPORT_BYTES,
  type ReportedContainer,
  type Trouble,
  type WorkerReport,
} from '../protocol/report.ts';
import type { StatusContainer, WorkerStatus } from './status/status.ts';

const MEBIBYTE = 1024 * 1024;

/** Figures of the machine; null where they could not be read. Sizes are in bytes. */
export interface MachineFigures {
  memory: { total: number; available: number } | null;
  /** The disk that the engine writes to. */
  disk: { total: number; free: number } | null;
  /** `usedPercent`: of all cores, since the figures were read last. */
  cpu: { cores: number; usedPercent: number };
}

/** What a container uses: percent of one core, and bytes. */
export interface ContainerFigures {
  cpu: number;
  memory: number;
}

export interface ReportInput {
  status: WorkerStatus;
  machine: MachineFigures;
  /** By container id; a container without figures is reported without them. */
  figures: ReadonlyMap<string, ContainerFigures>;
  /** Whether an app has changed since the last report. */
  isUpdate: boolean;
  /** Seconds since the Unix epoch. */
  now: number;
}

/** Builds a report for the manager. It has no value of a variable and no credentials. */
export function buildReport({ status, machine, figures, isUpdate, now }: ReportInput): WorkerReport {
  const { hostname, device_group, worker, applied, revision, ids, apps, problems } = status;
  return {
    hostname,
    device_group,
    report_creation_time: now,
    updated: isUpdate,
    memory_usage: memoryUsage(machine),
    root_disk_usage: diskUsage(machine),
    cpu_usage: { cores: machine.cpu.cores, used_percent: rounded(machine.cpu.usedPercent) },
    apps_containers: status.containers.map((container) => reported(container, figures.get(container.id))),
    worker,
    applied,
    revision,
    ids,
    apps,
    problems,
    reports_dropped: status.reports_dropped,
    uptime: status.uptime,
  };
}

/** What a report that is too large goes without, in this order. */
const LESS_IMPORTANT: readonly [what: string, without: (report: WorkerReport) => WorkerReport][] = [
  ['its containers', (report) => ({ ...report, apps_containers: [] })],
  [
    'the last lines of containers',
    (report) => ({
      ...report,
      apps: report.apps.map((app) => ({ ...app, error: app.error && withoutLog(app.error) })),
    }),
  ],
];

function withoutLog({ log: _, ...trouble }: Trouble): Trouble {
  return trouble;
}

/**
 * Returns the report in a size that managers take. What is left out is named in a warning among its problems. A report
 * can be too large even so, with some hundred apps.
 */
export function fittedReport(report: WorkerReport): WorkerReport {
  const bytes = bytesOf(report);
  let fitted = report;
  const left: string[] = [];
  for (const [what, without] of LESS_IMPORTANT) {
    if (bytesOf(fitted) <= MAX_REPORT_BYTES) break;
    left.push(what);
    const text = `a report of ${bytes} bytes was sent without ${left.join(' and ')}; managers take ${MAX_REPORT_BYTES}`;
    const since = report.report_creation_time;
    const warning: Trouble = { code: 'report-cut', text, since, attempts: 0, next_try: null };
    fitted = { ...without(fitted), problems: [...report.problems, warning] };
  }
  return fitted;
}

function bytesOf(report: WorkerReport): number {
  return Buffer.byteLength(JSON.stringify(report));
}

function memoryUsage({ memory }: MachineFigures): WorkerReport['memory_usage'] {
  if (memory === null) return null;
  const [total, available] = [mebibytes(memory.total), mebibytes(memory.available)];
  return { total, used: total - available, free: available, available };
}

function diskUsage({ disk }: MachineFigures): WorkerReport['root_disk_usage'] {
  if (disk === null) return null;
  const [total, free] = [mebibytes(disk.total), mebibytes(disk.free)];
  return { total, used: total - free, free };
}

function reported(
  { slot: _, ...container }: StatusContainer,
  figures: ContainerFigures | undefined,
): ReportedContainer {
  if (figures === undefined) return { ...container, cpu: null, memory: null };
  return { ...container, cpu: rounded(figures.cpu), memory: rounded(figures.memory / MEBIBYTE) };
}

/** A container can use less than one MiB; nobody needs less than a tenth of a percent. */
function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function mebibytes(bytes: number): number {
  return Math.round(bytes / MEBIBYTE);
}
