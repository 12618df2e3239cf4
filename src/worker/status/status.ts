import type { ReportedContainer, Trouble, TroubleCode, WorkerReport } from '../../protocol/report.ts';

/** A container as the status shows it: without the figures, which take a second each. */
export type StatusContainer = Omit<ReportedContainer, 'cpu' | 'memory'> & {
  /** From 1. */
  slot: number;
};

/** How the worker gets on with its manager. Times are seconds since the Unix epoch. */
export interface ManagerStatus {
  address: string;
  last_good_poll: number | null;
  /** Why the last poll failed; null if it did not. */
  error: string | null;
  next_poll: number | null;
  /** Whether it has refused this device, or has not answered sensibly, for three intervals, and HEALTH_NEEDS_MANAGER is true. */
  is_lost: boolean;
}

/**
 * The state of a device, as its worker knows it: what `worker status --json` prints, and what reports are made from. The
 * members that reports have as well mean the same there (`protocol/report.ts`).
 */
export type WorkerStatus = Pick<
  WorkerReport,
  | 'hostname'
  | 'device_group'
  | 'worker'
  | 'applied'
  | 'revision'
  | 'ids'
  | 'apps'
  | 'problems'
  | 'reports_dropped'
  | 'uptime'
> & {
  pid: number;
  manager: ManagerStatus;
  containers: readonly StatusContainer[];
  /** When the containers were looked at last, in seconds since the Unix epoch; null before. */
  looked_at: number | null;
};

/** Trouble that hinders nothing: what the device should run, it runs. */
const WARNINGS: ReadonlySet<TroubleCode> = new Set<TroubleCode>([
  'foreign-containers',
  'ids-behind',
  'report-cut',
  'stale-image',
  'state-not-saved',
  'unknown-fields',
]);
/** The device does not hear from its manager, and goes on with the last state that it received. */
const CUT_OFF: ReadonlySet<TroubleCode> = new Set<TroubleCode>(['bad-reply', 'manager-unavailable']);

/** Whether trouble of the device is a warning: it hinders nothing. */
export function isWarning({ code }: Trouble): boolean {
  return WARNINGS.has(code);
}

/** Whether an app runs as wanted. An error beside `running` is a warning. */
export function isAppAsWanted({ state, wanted, running, error }: WorkerReport['apps'][number]): boolean {
  if (state === 'running') return running >= wanted;
  return state === 'stopped' && error === null;
}

/** Whether there is nothing for people to do: what `worker status`, and with it the health of a container, goes by. */
export function isHealthy(status: WorkerStatus): boolean {
  return isAsWanted(status) && !status.manager.is_lost;
}

/**
 * Whether the device runs what its manager asked for last. It does so while the manager is away as well: then its containers are
 * right.
 */
export function isAsWanted({ applied, ids, apps, problems }: WorkerStatus): boolean {
  const hasOrders = applied !== null || ids.device_group_id !== null;
  return (
    hasOrders &&
    apps.every(isAppAsWanted) &&
    problems.every((problem) => isWarning(problem) || CUT_OFF.has(problem.code))
  );
}
