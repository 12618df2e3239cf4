import { restartPolicy } from '../../../protocol/fields/restart.ts';
import type { AppRecord } from '../../../protocol/info.ts';
import type { Container } from '../model.ts';

/** What decides whether a container that ended has done its work. */
export interface Ended {
  /** Null if it is not known. */
  record: Pick<AppRecord, 'restart'> | null;
  /** Ids of containers that the worker itself stopped: that they ended says nothing. */
  stopped: readonly string[];
  /** Whether the app was being changed, so that this worker may have stopped a container and forgotten it. */
  isChanging?: boolean;
}

/** Where the record is not known, as after a loss of the memory, a container says what its app wants. */
function policyOf({ restart }: Container, { record, isChanging }: Ended): ReturnType<typeof restartPolicy> {
  if (record !== null) return restartPolicy(record.restart);
  return restartPolicy(isChanging === true ? undefined : (restart ?? undefined));
}

/** Whether a container has done its work: it ended well, and is not to be started again because of that. */
export function hasEndedWell(container: Container, ended: Ended): boolean {
  const { id, state, exitCode } = container;
  if (state !== 'exited' || exitCode !== 0 || ended.stopped.includes(id)) return false;
  return policyOf(container, ended).when !== 'always';
}

/** Whether a container that ended, or is unhealthy, is to be left like that, since its app says so. */
export function isLeftAlone(container: Container, ended: Ended): boolean {
  const { id, state, restarts } = container;
  if (state === 'created' || ended.stopped.includes(id)) return false;
  const { when, most } = policyOf(container, ended);
  if (when === 'never' || hasEndedWell(container, ended)) return true;
  // The engine has counted its attempts; it starts over when somebody starts the container.
  return state === 'exited' && most !== null && restarts >= most;
}
