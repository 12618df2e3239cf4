import { APP_STATES } from '../../protocol/report.ts';
import { isAsWanted, type WorkerStatus } from '../status/status.ts';

/** What the worker has done since it started. */
export interface Counts {
  goodPolls: number;
  failedPolls: number;
  pulls: number;
  failedPulls: number;
  /** Containers that were started, for whatever reason. */
  starts: number;
  /** Restarts of unhealthy containers. */
  restarts: number;
  rollbacks: number;
}

export function noCounts(): Counts {
  return {
    goodPolls: 0,
    failedPolls: 0,
    pulls: 0,
    failedPulls: 0,
    starts: 0,
    restarts: 0,
    rollbacks: 0,
  };
}

interface Metric {
  name: string;
  type: 'counter' | 'gauge';
  help: string;
  /** With the labels of each. */
  values: readonly (readonly [Readonly<Record<string, string>>, number])[];
}

/** Returns the metrics in the text format of Prometheus. `disk`: bytes; null if they could not be read. */
export function renderMetrics(
  status: WorkerStatus,
  counts: Counts,
  disk: { total: number; free: number } | null,
): string {
  return metricsOf(status, counts, disk).map(metricText).join('');
}

function metricsOf(
  status: WorkerStatus,
  counts: Counts,
  disk: { total: number; free: number } | null,
): Metric[] {
  const { manager, worker, apps, problems } = status;
  const states = APP_STATES.map(
    (state) => [{ state }, apps.filter((app) => app.state === state).length] as const,
  );
  return [
    {
      name: 'info',
      type: 'gauge',
      help: 'The version of the worker and of its engine; always 1.',
      values: [
        [{ version: worker.version, engine: worker.engine ?? '', device_group: status.device_group }, 1],
      ],
    },
    gauge('as_wanted', 'Whether the device runs what its manager last served.', Number(isAsWanted(status))),
    gauge(
      'last_good_poll_timestamp_seconds',
      'When the manager last answered; 0 if it has not.',
      manager.last_good_poll ?? 0,
    ),
    { name: 'apps', type: 'gauge', help: 'Apps by state.', values: states },
    gauge('problems', 'Problems of the device as a whole.', problems.length),
    ...(disk === null ? [] : diskMetrics(disk)),
    ...countMetrics(counts, status.reports_dropped),
  ];
}

function diskMetrics({ total, free }: { total: number; free: number }): Metric[] {
  return [
    gauge('disk_bytes', 'Size of the disk that the engine writes to.', total),
    gauge('disk_free_bytes', 'What is free of it.', free),
  ];
}

function countMetrics(counts: Counts, dropped: number): Metric[] {
  const of = (name: string, help: string, good: number, failed: number): Metric => ({
    name,
    type: 'counter',
    help,
    values: [
      [{ result: 'good' }, good],
      [{ result: 'failed' }, failed],
    ],
  });
  return [
    of('polls_total', 'Polls of the manager.', counts.goodPolls, counts.failedPolls),
    of('pulls_total', 'Pulls of images.', counts.pulls, counts.failedPulls),
    counter('container_starts_total', 'Containers that were started.', counts.starts),
    counter('container_restarts_total', 'Restarts of unhealthy containers.', counts.restarts),
    counter('rollbacks_total', 'Versions that were taken back.', counts.rollbacks),
    counter(
      'reports_dropped_total',
      'Reports that were never delivered: a newer one replaced them, or the manager refused them.',
      dropped,
    ),
  ];
}

function gauge(name: string, help: string, value: number): Metric {
  return { name, type: 'gauge', help, values: [[{}, value]] };
}

function counter(name: string, help: string, value: number): Metric {
  return { name, type: 'counter', help, values: [[{}, value]] };
}

function metricText({ name, type, help, values }: Metric): string {
  const full = `holdfast_worker_${name}`;
  const lines = values.map(([labels, value]) => `${full}${labelText(labels)} ${value}\n`);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join('')}`;
}

function labelText(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}
