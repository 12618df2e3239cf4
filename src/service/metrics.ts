import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Metrics } from '../http/api.ts';
import type { PassOutcome } from '../reconcile/pass.ts';
import type { Status } from '../reconcile/status.ts';
import type { TransferObserver } from '../source/git/origin/origin.ts';

/** What the parts of the service tell about themselves. */
export interface ServiceMetrics extends Metrics {
  countPass(outcome: PassOutcome, status: Status): void;
  countTransfer: TransferObserver;
}

/** One registry for one service. */
export function createMetrics(): ServiceMetrics {
  const registry = new Registry();
  const registers = [registry];
  const transfers = new Counter({
    name: 'holdfast_origin_transfers_total',
    help: 'Fetches from and pushes to the repository elsewhere, by how they ended.',
    labelNames: ['kind', 'outcome'],
    registers,
  });
  const requestCounter = createRequestCounters(registers);
  const countPass = createPassMetrics(registers);
  let isCollecting = false;
  return {
    requestCounter,
    countRequest: (method, route, status) => requestCounter(method, route, status)(),
    countTransfer: (kind, outcome) => transfers.inc({ kind, outcome }),
    countPass,
    render: async () => {
      // Measuring the event loop costs something; nobody pays who never asks.
      if (!isCollecting) collectDefaultMetrics({ register: registry });
      isCollecting = true;
      return { type: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Counts in a plain map, and tells the counter only when somebody asks: devices poll by the thousand. */
function createRequestCounters(registers: Registry[]): ServiceMetrics['requestCounter'] {
  const counts = new Map<string, RequestCount>();
  new Counter({
    name: 'holdfast_http_requests_total',
    help: 'Requests answered.',
    labelNames: ['method', 'route', 'status'],
    registers,
    collect() {
      this.reset();
      for (const { labels, count } of counts.values()) if (count > 0) this.inc(labels, count);
    },
  });
  return (method, route, status) => {
    const key = `${method} ${status} ${route}`;
    const known = counts.get(key);
    if (known !== undefined) return known.add;
    const add = (): void => {
      made.count += 1;
    };
    const made: RequestCount = { labels: { method, route, status }, count: 0, add };
    counts.set(key, made);
    return made.add;
  };
}

interface RequestCount {
  labels: Record<string, string | number>;
  count: number;
  add(): void;
}

function createPassMetrics(registers: Registry[]): ServiceMetrics['countPass'] {
  const passes = new Counter({
    name: 'holdfast_passes_total',
    help: 'Passes of the reconciler, by how they ended.',
    labelNames: ['outcome'],
    registers,
  });
  const changes = new Counter({
    name: 'holdfast_applied_changes_total',
    help: 'Apps and device groups that passes created, changed or deleted.',
    registers,
  });
  const gauge = (name: string, help: string): Gauge => new Gauge({ name, help, registers });
  const problems = gauge('holdfast_problems', 'Problems in the desired state, as of the last pass.');
  const applied = gauge('holdfast_applied_timestamp_seconds', 'When a revision was applied last.');
  const failures = gauge(
    'holdfast_failures_in_a_row',
    'Passes or fetches that have failed since the last good one.',
  );
  const tellOrigin = createOriginMetrics(registers);
  return (outcome, status) => {
    passes.inc({ outcome: outcome.ok ? 'ok' : outcome.error.kind });
    if (outcome.ok) changes.inc(outcome.report.steps.length);
    problems.set(status.problems.length);
    failures.set(status.error?.failures ?? 0);
    if (status.applied !== null) applied.set(status.applied.at / 1000);
    tellOrigin(status);
  };
}

function createOriginMetrics(registers: Registry[]): (status: Status) => void {
  const reached = new Gauge({
    name: 'holdfast_origin_reached_timestamp_seconds',
    help: 'When this manager reached the repository elsewhere last.',
    registers,
  });
  const polls = new Gauge({
    name: 'holdfast_polls_origin',
    help: 'Whether this manager asks the repository elsewhere by the clock: 1 or 0.',
    registers,
  });
  return ({ origin, polling }) => {
    if (polling !== null) polls.set(polling.isOurs ? 1 : 0);
    if (origin?.reachedAt != null) reached.set(origin.reachedAt / 1000);
  };
}
