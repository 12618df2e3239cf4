import { once } from '../../async/once.ts';
import type { ErrorKind } from '../../errors.ts';
import type { Metrics } from '../../http/api.ts';
import type { PassOutcome } from '../../reconcile/pass/pass.ts';
import type { RecordStatus } from '../../reconcile/record/recorder.ts';
import type { Status } from '../../reconcile/status.ts';
import type { TransferObserver } from '../../source/git/origin/origin.ts';
import type { Count, Figures, PassFigures } from './figures.ts';

/** What the parts of the service tell about themselves. */
export interface ServiceMetrics extends Metrics {
  countPass(outcome: PassOutcome, status: Status): void;
  countTransfer: TransferObserver;
  tellRecord(status: Pick<RecordStatus, 'problem'>): void;
  /** Loads what `render` needs, which a start does not wait for. */
  load(): Promise<void>;
}

/** Counts for one service. What turns the figures into text is made when somebody asks for it first. */
export function createMetrics(): ServiceMetrics {
  const requests = createCounts();
  const transfers = createCounts();
  const passes = createPassFigures();
  let isRecorded = true;
  const figures = (): Figures => ({
    isRecorded,
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
    tellRecord: ({ problem }) => {
      isRecorded = problem === null;
    },
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

/** How a pass can end. Each is exposed as 0 from the start, so that the first of its kind is a rise and no new series. */
const OUTCOMES: readonly (ErrorKind | 'ok')[] = [
  'ok',
  'unavailable',
  'stalled',
  'conflict',
  'invalid',
  'internal',
];

function createPassFigures() {
  const passes = createCounts();
  const counterOf = (outcome: string): (() => void) => passes.counter(outcome, { outcome });
  for (const outcome of OUTCOMES) counterOf(outcome);
  const last: Omit<PassFigures, 'passes'> = {
    changes: 0,
    problems: 0,
    failures: 0,
    appliedAt: null,
    reachedAt: null,
    isOriginUp: null,
    pollsOrigin: null,
  };
  const count: ServiceMetrics['countPass'] = (outcome, status) => {
    counterOf(outcome.ok ? 'ok' : outcome.error.kind)();
    if (outcome.ok) last.changes += outcome.report.steps.length;
    last.problems = status.problems.length;
    last.failures = status.error?.failures ?? 0;
    if (status.applied !== null) last.appliedAt = status.applied.at / 1000;
    if (status.polling !== null) last.pollsOrigin = status.polling.isOurs;
    Object.assign(last, originFigures(status.origin));
  };
  return { count, figures: () => ({ ...last, passes: passes.all() }) };
}

/** Before the first look nobody knows whether origin is reached. */
function originFigures(origin: Status['origin']): Pick<PassFigures, 'reachedAt' | 'isOriginUp'> {
  const { reachedAt = null, error = null } = origin ?? {};
  const isLookedAt = reachedAt !== null || error !== null;
  return {
    reachedAt: reachedAt === null ? null : reachedAt / 1000,
    isOriginUp: isLookedAt ? error === null : null,
  };
}
