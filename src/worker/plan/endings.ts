import { restartPolicy } from '../../protocol/fields/restart.ts';
import type { AppRecord } from '../../protocol/info.ts';
import type { Container } from './model.ts';

/** What decides whether a container that ended has done its work. */
export interface Ended {
  /** Null if it is not known. */
  record: Pick<AppRecord, 'restart'> | null;
  /** Ids of containers that the worker itself stopped: that they ended says nothing. */
  stopped: readonly string[];
}

/** Whether a container has done its work: it ended well, and is not to be started again because of that. */
export function hasEndedWell({ id, state, exitCode }: Container, { record, stopped }: Ended): boolean {
  if (state !== 'exited' || exitCode !== 0 || stopped.includes(id)) return false;
  return restartPolicy(record?.restart).when !== 'always';
}

/** Whether a container that ended, or is unhealthy, is to be left like that, since its app says so. */
export function isLeftAlone(container: Container, ended: Ended): boolean {
  const { id, state, restarts } = container;
  if (state === 'created' || ended.stopped.includes(id)) return false;
  const { when, most } = restartPolicy(ended.record?.restart);
  if (when === 'never' || hasEndedWell(container, ended)) return true;
  // The engine has counted its attempts; it starts over when somebody starts the container.
  return state === 'exited' && most !== null && restarts >= most;
}
