import type { Logger } from 'pino';
import { HoldfastError } from '../../errors.ts';
import { isRecent, type RecordStatus } from '../../ids/keeper/status.ts';
import { createFailureLog } from '../../log/failure-log.ts';

/**
 * Logs when the recording of ids begins to fail, once a minute while it does, and when it works again, and that another
 * manager records ids as well, each time that it did not in the ten minutes before. `now` returns Unix milliseconds.
 */
export function createRecordLog(
  logger: Logger,
  now: () => number,
): (status: RecordStatus, error?: unknown) => void {
  const writes = createFailureLog(logger, now, {
    failing: 'ids are not recorded',
    working: 'ids are recorded again',
  });
  let lastReplaced: RecordStatus['replaced'] = null;
  let lastOther: RecordStatus['otherManager'] = null;
  return ({ problem, replaced, otherManager }, error) => {
    if (problem === null) writes.succeeded();
    else writes.failed(error ?? new HoldfastError('unavailable', problem.message));
    if (replaced !== null && replaced !== lastReplaced)
      logger.warn({ reason: replaced.message }, 'the record of ids could not be read and was rewritten');
    lastReplaced = replaced;
    const isNew = otherManager !== null && (lastOther === null || !isRecent(lastOther.at, otherManager.at));
    if (isNew)
      logger.warn(
        { fleet: otherManager.fleet, at: new Date(otherManager.at).toISOString() },
        'a manager with another store has written the record of ids of this folder; run one manager per folder (with GIT_REMOTE, per folder and branch)',
      );
    lastOther = otherManager ?? lastOther;
  };
}
