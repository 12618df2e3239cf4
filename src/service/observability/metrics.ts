import { once } from '../../async/once.ts';
import type { ErrorKind } from '../../errors.ts';
import type { Metrics } from '../../http/api.ts';
import type { RecordStatus } from '../../ids/keeper/status.ts';
import type { Incidents } from '../../incidents/incidents.ts';
import type { Convergence } from '../../protocol/device.ts';
import type { PassOutcome } from '../../reconcile/pass/pass.ts';
import { STARTING, type Status } from '../../reconcile/status.ts';
import type { TransferObserver } from '../../source/git/origin/origin.ts';
import type { Count, Measured } from './exposition.ts';

interface NamedFleet {
  identity: { fleet: string };
  incidents: Pick<Incidents, 'open'>;
}

/** The metrics of one service, with the methods by which its parts report. */
export interface ServiceMetrics extends Metrics {
  countPass(outcome: PassOutcome, status: Status): void;
  countTransfer: TransferObserver;
  /** Names the fleet, and what lists its open incidents. */
  setFleet(fleet: NamedFleet): void;
  setRecordStatus(status: Pick<RecordStatus, 'problem'>): void;
  /** Takes note of how many connections are open. */
  setConnections(open: number): void;
  /** Loads the modules that `render` needs, unless they are loaded. */
  load(): Promise<void>;
}

/**
 * Creates the metrics of one service; `countDevices` counts the devices at each scrape. The renderer is loaded by `load`, or at the first scrape, so that a start need not
 * wait for it; the event loop is measured from the first scrape on.
 */
export function createMetrics(countDevices: () => Promise<Convergence>): ServiceMetrics {
  const requests = createCounts();
  const transfers = createCounts();
  const passes = createCounts();
  for (const outcome of OUTCOMES) passes.counter(outcome, { outcome });
  const latest = { changes: 0, isRecorded: true, connections: 0, status: STARTING };
  let fleet: NamedFleet | null = null;
  const measure = (): Measured => ({
    requests: requests.all(),
    transfers: transfers.all(),
    passes: passes.all(),
    ...latest,
    fleet: fleet?.identity.fleet ?? '',
    incidents: fleet?.incidents.open() ?? [],
  });
  const load = once(() => import('./exposition.ts'));
  const exposition = once(async () => (await load()).createExposition(measure, countDevices));
  const requestCounter: Metrics['requestCounter'] = (method, route, status) =>
    requests.counter(`${method} ${status} ${route}`, { method, route, status });
  return {
    requestCounter,
    countRequest: (method, route, status) => requestCounter(method, route, status)(),
    countTransfer: (kind, outcome) => transfers.counter(`${kind} ${outcome}`, { kind, outcome })(),
    countPass: (outcome, status) => {
      const result = outcome.ok ? 'ok' : outcome.error.kind;
      passes.counter(result, { outcome: result })();
      if (outcome.ok) latest.changes += outcome.report.steps.length;
      latest.status = status;
    },
    setConnections: (open) => {
      latest.connections = open;
    },
    setFleet: (named) => {
      fleet = named;
    },
    setRecordStatus: ({ problem }) => {
      latest.isRecorded = problem === null;
    },
    load: async () => void (await load()),
    render: async () => (await exposition())(),
  };
}

/**
 * The outcomes of a pass. All are exposed as 0 from the start: `increase()` does not count the first sample of a new
 * series.
 */
const OUTCOMES: readonly (ErrorKind | 'ok')[] = [
  'ok',
  'unavailable',
  'refused',
  'conflict',
  'invalid',
  'internal',
];

/** Counts in a plain map, which is faster than a counter of prom-client: thousands of devices poll. */
function createCounts() {
  const counts = new Map<string, Count & { add(): void }>();
  return {
    /** Returns the function that adds one to the count of these labels; `key` must be unique to them. */
    counter: (key: string, labels: Count['labels']): (() => void) => {
      const existing = counts.get(key);
      if (existing !== undefined) return existing.add;
      const add = (): void => {
        created.count += 1;
      };
      const created = { labels, count: 0, add };
      counts.set(key, created);
      return add;
    },
    all: (): Iterable<Count> => counts.values(),
  };
}
