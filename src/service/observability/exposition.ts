import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Metrics } from '../../http/api.ts';
import type { Convergence, GroupCounts } from '../../protocol/device.ts';
import type { Status } from '../../reconcile/status.ts';
import { INCIDENT_KINDS, type Incident } from '../../store/incidents/incident.ts';
import { PRODUCT_VERSION } from '../../version.ts';

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
  /** How many objects all passes have created, changed or deleted. */
  changes: number;
  /** Whether ids can be recorded. */
  isRecorded: boolean;
  /** How many connections are open. */
  connections: number;
  /** The name of the fleet. */
  fleet: string;
  /** Those that last. */
  incidents: readonly Incident[];
  /** The status after the last pass. */
  status: Status;
}

/**
 * Returns a function that renders these metrics, and those of the process, in the text format of Prometheus. It calls
 * `measure` once for each metric at each scrape.
 */
export function createExposition(
  measure: () => Measured,
  countDevices: () => Promise<Convergence>,
): Metrics['render'] {
  const registry = new Registry();
  let groups: readonly GroupCounts[] = [];
  for (const row of COUNTERS) addCounts(Counter, registry, row, measure);
  for (const row of GAUGES_BY_LABEL) addCounts(Gauge, registry, row, measure);
  for (const row of DEVICE_COUNTERS) addCounts(Counter, registry, row, () => groups);
  for (const row of DEVICE_GAUGES) addCounts(Gauge, registry, row, () => groups);
  for (const row of GAUGES) addGauge(registry, row, measure);
  // Begins to measure the event loop, which costs time: so it starts with the first scrape.
  collectDefaultMetrics({ register: registry });
  return async () => {
    // A store that cannot be reached leaves out the devices, not the metrics that say so.
    groups = await countDevices().then(
      (counts) => counts.groups,
      () => [],
    );
    return { type: registry.contentType, text: await registry.metrics() };
  };
}

type CountsRow<Source> = [
  name: string,
  help: string,
  labels: string[],
  read: (source: Source) => Iterable<Count>,
];

const COUNTERS: readonly CountsRow<Measured>[] = [
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
];

const DEVICE_COUNTERS: readonly CountsRow<readonly GroupCounts[]>[] = [
  [
    'holdfast_anonymous_polls_total',
    'Polls that came without the name of a device.',
    ['group'],
    (groups) => countsBy(groups, 'anonymous_polls').filter(({ count }) => count > 0),
  ],
];

const GAUGES_BY_LABEL: readonly CountsRow<Measured>[] = [
  [
    'holdfast_info',
    'Always 1; which fleet this is, and the version of the manager.',
    ['fleet', 'version'],
    ({ fleet }) => [{ labels: { fleet, version: PRODUCT_VERSION }, count: 1 }],
  ],
  [
    'holdfast_incidents',
    'Incidents that last, by kind.',
    ['kind'],
    ({ incidents }) =>
      INCIDENT_KINDS.map((kind) => ({
        labels: { kind },
        count: incidents.filter((incident) => incident.kind === kind).length,
      })),
  ],
];

const COUNTED_STATES = ['current', 'behind', 'failed', 'silent', 'unknown', 'expected'] as const;

const DEVICE_GAUGES: readonly CountsRow<readonly GroupCounts[]>[] = [
  [
    'holdfast_devices',
    'Devices by group and state, as docs/devices.md has them.',
    ['group', 'state'],
    (groups) =>
      groups.flatMap((counts) =>
        COUNTED_STATES.map((state) => ({ labels: { group: counts.group, state }, count: counts[state] })),
      ),
  ],
  [
    'holdfast_devices_converged',
    'Devices that have all that their group should have.',
    ['group'],
    (groups) => countsBy(groups, 'current'),
  ],
];

function countsBy(groups: readonly GroupCounts[], count: 'current' | 'anonymous_polls'): Count[] {
  return groups.map((counts) => ({ labels: { group: counts.group }, count: counts[count] }));
}

function addCounts<Source>(
  Metric: typeof Counter | typeof Gauge,
  registry: Registry,
  [name, help, labelNames, read]: CountsRow<Source>,
  source: () => Source,
): void {
  new Metric({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset();
      for (const { labels, count } of read(source())) this.inc({ ...labels }, count);
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
