import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { GroupPolls } from '../../fleet/devices.ts';
import type { Metrics } from '../../http/api.ts';
import type { Status } from '../../reconcile/status.ts';

/** The value of a counter for one combination of its labels. */
export interface Count {
  labels: Readonly<Record<string, string | number>>;
  count: number;
}

/** The measurements of one service at a scrape. */
export interface Measured {
  requests: Iterable<Count>;
  transfers: Iterable<Count>;
  passes: Iterable<Count>;
  /** Counts the devices at each call. */
  polls(): Iterable<GroupPolls>;
  /** How many objects all passes have created, changed or deleted. */
  changes: number;
  /** Whether ids can be recorded. */
  isRecorded: boolean;
  /** How many connections are open. */
  connections: number;
  /** The status after the last pass. */
  status: Status;
}

/**
 * Returns a function that renders these metrics, and those of the process, in the text format of Prometheus. It calls
 * `measure` once for each metric at each scrape.
 */
export function createExposition(measure: () => Measured): Metrics['render'] {
  const registry = new Registry();
  for (const row of COUNTERS) addCounts(Counter, registry, row, measure);
  for (const row of GAUGES_BY_LABEL) addCounts(Gauge, registry, row, measure);
  for (const row of GAUGES) addGauge(registry, row, measure);
  // Begins to measure the event loop, which costs time: so it starts with the first scrape.
  collectDefaultMetrics({ register: registry });
  return async () => ({ type: registry.contentType, text: await registry.metrics() });
}

type CountsRow = [
  name: string,
  help: string,
  labels: string[],
  read: (measured: Measured) => Iterable<Count>,
];

const COUNTERS: readonly CountsRow[] = [
  [
    'holdfast_origin_transfers_total',
    'Fetches from and pushes to origin, by outcome.',
    ['kind', 'outcome'],
    ({ transfers }) => transfers,
  ],
  [
    'holdfast_http_requests_total',
    'Requests answered.',
    ['method', 'route', 'status'],
    // Counters are also made for requests that never come; those are not shown.
    ({ requests }) => [...requests].filter(({ count }) => count > 0),
  ],
  ['holdfast_passes_total', 'Reconcile passes, by outcome.', ['outcome'], ({ passes }) => passes],
  [
    'holdfast_applied_changes_total',
    'Apps and device groups that passes created, changed or deleted.',
    [],
    ({ changes }) => [{ labels: {}, count: changes }],
  ],
  [
    'holdfast_anonymous_polls_total',
    'Polls that came without the name of a device.',
    ['device_group'],
    ({ polls }) => countsBy(polls(), 'anonymousPolls'),
  ],
];

const GAUGES_BY_LABEL: readonly CountsRow[] = [
  [
    'holdfast_polling_devices',
    'Devices that sent their name and polled this manager in the last ten minutes, by the group that they polled last.',
    ['device_group'],
    ({ polls }) => countsBy(polls(), 'devices'),
  ],
];

function countsBy(polls: Iterable<GroupPolls>, count: 'devices' | 'anonymousPolls'): Count[] {
  return Array.from(polls, (group) => ({ labels: { device_group: group.group }, count: group[count] }));
}

function addCounts(
  Metric: typeof Counter | typeof Gauge,
  registry: Registry,
  [name, help, labelNames, read]: CountsRow,
  measure: () => Measured,
): void {
  new Metric({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of read(measure())) this.inc({ ...labels }, count);
    },
  });
}

/** A gauge whose value is null is not exposed: there is nothing to measure yet, or at all. */
type GaugeRow = [name: string, help: string, read: (measured: Measured) => number | boolean | null];

const GAUGES: readonly GaugeRow[] = [
  [
    'holdfast_problems',
    'Problems in the desired state, as of the last pass.',
    ({ status }) => status.problems.length,
  ],
  [
    'holdfast_applied_timestamp_seconds',
    'Unix time at which a revision was last applied.',
    ({ status }) => seconds(status.applied?.at),
  ],
  [
    'holdfast_failures_in_a_row',
    'Passes or fetches that have failed since the last successful one.',
    ({ status }) => status.error?.failures ?? 0,
  ],
  [
    'holdfast_origin_reached_timestamp_seconds',
    'Unix time at which this manager last reached origin.',
    ({ status }) => seconds(status.origin?.reachedAt),
  ],
  [
    'holdfast_origin_up',
    'Whether this manager reached origin at its last check: 1 or 0.',
    ({ status }) => isOriginUp(status.origin),
  ],
  [
    'holdfast_ids_recorded',
    'Whether ids can be recorded where they survive the loss of the store: 1 or 0.',
    ({ isRecorded }) => isRecorded,
  ],
  ['holdfast_http_connections', 'Open connections.', ({ connections }) => connections],
];

function seconds(milliseconds: number | null | undefined): number | null {
  return milliseconds == null ? null : milliseconds / 1000;
}

/** Returns null before the first fetch, and if there is no origin. */
function isOriginUp(origin: Status['origin']): boolean | null {
  if (origin === null || (origin.reachedAt === null && origin.error === null)) return null;
  return origin.error === null;
}

function addGauge(registry: Registry, [name, help, read]: GaugeRow, measure: () => Measured): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      const value = read(measure());
      if (value === null) this.remove();
      else this.set(Number(value));
    },
  });
}
