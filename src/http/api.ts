import type { Rollbacks } from '../change/rollback.ts';
import type { Writer } from '../change/write.ts';
import type { Emit } from '../events/hub.ts';
import type { Asks } from '../fleet/asks.ts';
import type { Fleet } from '../fleet/fleet.ts';
import type { Lags } from '../fleet/lags.ts';
import type { IdStore } from '../ids/id-store.ts';
import type { Keeper } from '../ids/keeper/keeper.ts';
import type { Incidents } from '../incidents/incidents.ts';
import type { BranchPlans } from '../reconcile/branch-plan.ts';
import type { ReconcileEvents } from '../reconcile/events.ts';
import type { Past } from '../reconcile/history/past.ts';
import type { Reconciler } from '../reconcile/reconciler.ts';
import type {
  ObjectReads,
  OperationStore,
  PassStore,
  Reachable,
  StoreProgress,
} from '../store/objects/port.ts';
import type { ReportStore } from '../store/reports/port.ts';
import type { InfoCache } from './info/cache.ts';
import type { DeviceInfos } from './info/devices.ts';

/** Counts requests, and renders all metrics of this manager. */
export interface Metrics {
  /** `route` is the path with which the route was registered. */
  countRequest(method: string, route: string, status: number): void;
  /** Returns a function that counts requests of one kind. The hot path thus looks up its counter only once. */
  requestCounter(method: string, route: string, status: number): () => void;
  /** Resolves to all metrics in the text format of Prometheus, with its content type. */
  render(): Promise<{ type: string; text: string }>;
}

/** Which fleet a manager has. */
export interface FleetIdentity {
  /** `FLEET_NAME`. */
  fleet: string;
  /** Addresses at the forge, with `{revision}` and `{path}`; null where it is not known. */
  forge: { commit: string; file: string } | null;
}

/** The dependencies of the routes. */
export interface Api {
  store: ObjectReads &
    OperationStore &
    StoreProgress &
    Reachable &
    Pick<IdStore, 'counters'> &
    Pick<PassStore, 'appliedObjects'>;
  reports: ReportStore;
  writer: Writer;
  rollbacks: Rollbacks;
  branchPlans: BranchPlans;
  reconciler: Reconciler;
  keeper: Pick<Keeper, 'status'>;
  /** The history. */
  past: Past;
  info: Pick<InfoCache, 'read' | 'ready'>;
  deviceInfos: Omit<DeviceInfos, 'invalidate'>;
  /** Announces what operations have changed. */
  events: { emit: Emit<Pick<ReconcileEvents, 'changed'>> };
  /** Where the repository is that the manager follows: an address, or a folder of this machine. */
  followed: string;
  fleet: Fleet;
  lags: Lags;
  asks: Asks;
  incidents: Incidents;
  /** Which fleet this is, for people. */
  identity: FleetIdentity;
  metrics: Metrics;
  /** How long a request waits for a pass, in milliseconds. */
  waitLimit: number;
  /** The current time in Unix milliseconds. */
  now(): number;
}
