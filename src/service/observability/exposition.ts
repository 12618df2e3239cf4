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
  add('holdfast_passes_total', 'Reconcile passes, by outcome.', ['outcome'], () => figures().passes);
  add('holdfast_applied_changes_total', CHANGES, [], () => [{ labels: {}, count: figures().changes }]);
}

const TRANSFERS = 'Fetches from and pushes to origin, by outcome.';
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
  [
    'holdfast_applied_timestamp_seconds',
    'Unix time at which a revision was last applied.',
    ({ appliedAt }) => appliedAt,
  ],
  [
    'holdfast_failures_in_a_row',
    'Passes or fetches that have failed since the last successful one.',
    ({ failures }) => failures,
  ],
  [
    'holdfast_origin_reached_timestamp_seconds',
    'Unix time at which this manager last reached origin.',
    ({ reachedAt }) => reachedAt,
  ],
  [
    'holdfast_origin_up',
    'Whether this manager reached origin at its last check: 1 or 0.',
    ({ isOriginUp }) => numberOf(isOriginUp),
  ],
  [
    'holdfast_ids_recorded',
    'Whether ids can be recorded where they survive the loss of the store: 1 or 0.',
    ({ isRecorded }) => numberOf(isRecorded),
  ],
  [
    'holdfast_polls_origin',
    'Whether this manager polls origin: 1 or 0.',
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
