import { once } from '../../async/once.ts';
import type { ErrorKind } from '../../errors.ts';
import type { Metrics } from '../../http/api.ts';
import type { PassOutcome } from '../../reconcile/pass/pass.ts';
import type { RecordStatus } from '../../reconcile/record/recorder.ts';
import { STARTING, type Status } from '../../reconcile/status.ts';
import type { TransferObserver } from '../../source/git/origin/origin.ts';
import type { Count, Measured } from './exposition.ts';

/** The metrics of one service, and how its parts report to them. */
export interface ServiceMetrics extends Metrics {
  countPass(outcome: PassOutcome, status: Status): void;
  countTransfer: TransferObserver;
  tellRecord(status: Pick<RecordStatus, 'problem'>): void;
  /** Loads what `render` needs, which a start does not wait for. */
  load(): Promise<void>;
}

/** Counts for one service. What renders the metrics is loaded at the first scrape. */
export function createMetrics(): ServiceMetrics {
  const requests = createCounts();
  const transfers = createCounts();
  const passes = createCounts();
  for (const outcome of OUTCOMES) passes.counter(outcome, { outcome });
  let changes = 0;
  let isRecorded = true;
  let lastStatus = STARTING;
  const measure = (): Measured => ({
    requests: requests.all(),
    transfers: transfers.all(),
    passes: passes.all(),
    changes,
    isRecorded,
    status: lastStatus,
  });
  const load = once(() => import('./exposition.ts'));
  const exposition = once(async () => (await load()).createExposition(measure));
  const requestCounter: Metrics['requestCounter'] = (method, route, status) =>
    requests.counter(`${method} ${status} ${route}`, { method, route, status });
  return {
    requestCounter,
    countRequest: (method, route, status) => requestCounter(method, route, status)(),
    countTransfer: (kind, outcome) => transfers.counter(`${kind} ${outcome}`, { kind, outcome })(),
    countPass: (outcome, status) => {
      const ended = outcome.ok ? 'ok' : outcome.error.kind;
      passes.counter(ended, { outcome: ended })();
      if (outcome.ok) changes += outcome.report.steps.length;
      lastStatus = status;
    },
    tellRecord: ({ problem }) => {
      isRecorded = problem === null;
    },
    load: async () => void (await load()),
    render: async () => (await exposition())(),
  };
}

/** How a pass can end. Each is exposed as 0 from the start, so that the first of its kind is a rise and no new series. */
const OUTCOMES: readonly (ErrorKind | 'ok')[] = [
  'ok',
  'unavailable',
  'refused',
  'conflict',
  'invalid',
  'internal',
];

/** Counts in a plain map: devices poll by the thousand. */
function createCounts() {
  const counts = new Map<string, Count & { add(): void }>();
  return {
    /** A function that adds one for these labels, for which the key is unique. */
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
