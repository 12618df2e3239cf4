import type { Rules } from '../plan/model.ts';
import type { Policy } from '../plan/wanted/wanted.ts';
import type { WorkerConfig } from '../settings.ts';

/** Returns what a device lets its manager do, by its settings. */
export function policyOf(config: WorkerConfig): Policy {
  return {
    maxContainers: config.MAX_CONTAINERS,
    allowPrivileged: config.ALLOW_PRIVILEGED,
    allowMounts: config.ALLOW_MOUNTS,
    allowImages: config.ALLOW_IMAGES,
  };
}

/** Seconds that a container without a health check has to run. */
const SETTLE_TIME = 10;

/** Returns the limits of the planner, by the settings. */
export function rulesOf(config: WorkerConfig): Rules {
  return {
    prefix: prefixOf(config.WORKER),
    worker: config.WORKER,
    healthWait: config.HEALTH_WAIT,
    settleTime: SETTLE_TIME,
    stopTimeout: config.STOP_TIMEOUT,
    rollback: config.ROLLBACK,
    updateSpread: config.UPDATE_SPREAD,
  };
}

/** Characters of a name at most. */
const LONGEST_NAME = 128;

/** Returns the name of this device for the manager; null while it is not known what the engine calls the machine. */
export function deviceName(
  { DEVICE_NAME, WORKER }: Pick<WorkerConfig, 'DEVICE_NAME' | 'WORKER'>,
  machine: string | null,
): string | null {
  if (DEVICE_NAME !== null || machine === null) return DEVICE_NAME;
  return WORKER === 'main' ? machine : `${machine}.${WORKER}`.slice(0, LONGEST_NAME);
}

/** Returns what the names of a worker's containers begin with; those of `main` have no prefix. */
export function prefixOf(worker: string): string {
  return worker === 'main' ? '' : `${worker}.`;
}
