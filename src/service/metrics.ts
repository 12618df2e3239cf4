import { once } from '../async/once.ts';
import type { Metrics } from '../http/api.ts';
import type { PassOutcome } from '../reconcile/pass.ts';
import type { Status } from '../reconcile/status.ts';
import type { TransferObserver } from '../source/git/origin/origin.ts';
import type { Count, Figures } from './figures.ts';

/** What the parts of the service tell about themselves. */
export interface ServiceMetrics extends Metrics {
  countPass(outcome: PassOutcome, status: Status): void;
  countTransfer: TransferObserver;
  /** Loads what `render` needs, which a start does not wait for. */
  load(): Promise<void>;
}

/** Counts for one service. What turns the figures into text is made when somebody asks for it first. */
export function createMetrics(): ServiceMetrics {
  const requests = createCounts();
  const transfers = createCounts();
  const passes = createPassFigures();
  const figures = (): Figures => ({
    requests: requests.all(),
    transfers: transfers.all(),
    ...passes.figures(),
  });
  const load = once(() => import('./exposition.ts'));
  const exposition = once(async () => (await load()).createExposition(figures));
  const requestCounter: Metrics['requestCounter'] = (method, route, status) =>
    requests.counter(`${method} ${status} ${route}`, { method, route, status });
  return {
    requestCounter,
    countRequest: (method, route, status) => requestCounter(method, route, status)(),
    countTransfer: (kind, outcome) => transfers.counter(`${kind} ${outcome}`, { kind, outcome })(),
    countPass: passes.count,
    load: async () => void (await load()),
    render: async () => (await exposition())(),
  };
}

/** Counts in a plain map: devices poll by the thousand. */
function createCounts() {
  const counts = new Map<string, Count & { add(): void }>();
  return {
    /** Adds one for these labels, which the key tells from all others. */
    counter: (key: string, labels: Count['labels']): (() => void) => {
      const known = counts.get(key);
      if (known !== undefined) return known.add;
      const add = (): void => {
        made.count += 1;
      };
      const made = { labels, count: 0, add };
      counts.set(key, made);
      return add;
    },
    all: (): Iterable<Count> => counts.values(),
  };
}

function createPassFigures() {
  const passes = createCounts();
  const last = {
    changes: 0,
    problems: 0,
    failures: 0,
    appliedAt: null,
    reachedAt: null,
    pollsOrigin: null,
  } as Omit<Figures, 'requests' | 'transfers' | 'passes'>;
  const count: ServiceMetrics['countPass'] = (outcome, status) => {
    const label = outcome.ok ? 'ok' : outcome.error.kind;
    passes.counter(label, { outcome: label })();
    if (outcome.ok) last.changes += outcome.report.steps.length;
    last.problems = status.problems.length;
    last.failures = status.error?.failures ?? 0;
    if (status.applied !== null) last.appliedAt = status.applied.at / 1000;
    if (status.polling !== null) last.pollsOrigin = status.polling.isOurs;
    if (status.origin?.reachedAt != null) last.reachedAt = status.origin.reachedAt / 1000;
  };
  return { count, figures: () => ({ ...last, passes: passes.all() }) };
}
