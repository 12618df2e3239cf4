import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Metrics } from '../../http/api.ts';
import type { Count, Figures } from './figures.ts';

/** Tells figures, and those of the process, in the text format of Prometheus; reads `figures` at each call. */
export function createExposition(figures: () => Figures): Metrics['render'] {
  const registry = new Registry();
  addCounters(registry, figures);
  addGauges(registry, figures);
  // Measuring the event loop costs something; nobody pays who never asks.
  collectDefaultMetrics({ register: registry });
  return async () => ({ type: registry.contentType, text: await registry.metrics() });
}

function addCounters(registry: Registry, figures: () => Figures): void {
  const add = counterAdder(registry);
  add('holdfast_origin_transfers_total', TRANSFERS, ['kind', 'outcome'], () => figures().transfers);
  add('holdfast_http_requests_total', 'Requests answered.', ['method', 'route', 'status'], () =>
    counted(figures().requests),
  );
  add(
    'holdfast_passes_total',
    'Passes of the reconciler, by how they ended.',
    ['outcome'],
    () => figures().passes,
  );
  add('holdfast_applied_changes_total', CHANGES, [], () => [{ labels: {}, count: figures().changes }]);
}

const TRANSFERS = 'Fetches from and pushes to the repository elsewhere, by how they ended.';
const CHANGES = 'Apps and device groups that passes created, changed or deleted.';

/** A counter can be made for requests that never come. */
function counted(counts: Iterable<Count>): Count[] {
  return [...counts].filter(({ count }) => count > 0);
}

function counterAdder(registry: Registry) {
  return (name: string, help: string, labelNames: string[], read: () => Iterable<Count>): void => {
    new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        this.reset();
        for (const { labels, count } of read()) this.inc({ ...labels }, count);
      },
    });
  };
}

/** Name, help and value; a gauge whose value is null is not told. */
type GaugeRow = [name: string, help: string, read: (figures: Figures) => number | null];

const GAUGES: readonly GaugeRow[] = [
  ['holdfast_problems', 'Problems in the desired state, as of the last pass.', ({ problems }) => problems],
  ['holdfast_applied_timestamp_seconds', 'When a revision was applied last.', ({ appliedAt }) => appliedAt],
  [
    'holdfast_failures_in_a_row',
    'Passes or fetches that have failed since the last good one.',
    ({ failures }) => failures,
  ],
  [
    'holdfast_origin_reached_timestamp_seconds',
    'When this manager reached the repository elsewhere last.',
    ({ reachedAt }) => reachedAt,
  ],
  [
    'holdfast_origin_up',
    'Whether the last look of this manager at the repository elsewhere reached it: 1 or 0.',
    ({ isOriginUp }) => numberOf(isOriginUp),
  ],
  [
    'holdfast_ids_recorded',
    'Whether ids can be recorded where a loss of the store does not reach them: 1 or 0.',
    ({ isRecorded }) => numberOf(isRecorded),
  ],
  [
    'holdfast_polls_origin',
    'Whether this manager asks the repository elsewhere by the clock: 1 or 0.',
    ({ pollsOrigin }) => numberOf(pollsOrigin),
  ],
];

function numberOf(flag: boolean | null): number | null {
  return flag === null ? null : Number(flag);
}

function addGauges(registry: Registry, figures: () => Figures): void {
  for (const [name, help, read] of GAUGES) {
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        const value = read(figures());
        if (value === null) this.remove();
        else this.set(value);
      },
    });
  }
}
