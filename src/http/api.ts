import type { Writer } from '../change/write.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type { Recorder } from '../reconcile/record/recorder.ts';
import type {
  IdStore,
  ObjectReads,
  OperationStore,
  PassStore,
  Reachable,
  ReportStore,
  StoreProgress,
} from '../store/store.ts';
import type { InfoCache } from './info/cache.ts';

/** Metrics of this manager. */
export interface Metrics {
  /** `route` is what the route was registered as. */
  countRequest(method: string, route: string, status: number): void;
  /** A function that counts requests of one kind: for the hot path, which looks up the counter once. */
  requestCounter(method: string, route: string, status: number): () => void;
  /** All metrics in the text format of Prometheus, with its content type. */
  render(): Promise<{ type: string; text: string }>;
}

/** What the routes work with. */
export interface Api {
  store: ObjectReads &
    OperationStore &
    ReportStore &
    StoreProgress &
    Reachable &
    Pick<IdStore, 'counters'> &
    Pick<PassStore, 'appliedObjects'>;
  writer: Writer;
  reconciler: Reconciler;
  recorder: Pick<Recorder, 'status'>;
  info: InfoCache;
  metrics: Metrics;
  /** Milliseconds that a request waits for a pass. */
  patience: number;
  /** Unix milliseconds. */
  now(): number;
}
