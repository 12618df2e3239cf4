import type { Logger } from 'pino';
import { HoldfastError } from '../../errors.ts';
import type { RecordStatus } from '../../ids/record/recorder.ts';
import { createFailureLog } from '../../log/failure-log.ts';

/**
 * Logs when the recording of ids begins to fail, once a minute while it does, and when it works again. `now` returns Unix
 * milliseconds.
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
  return ({ problem, replaced }, error) => {
    if (problem === null) writes.succeeded();
    else writes.failed(error ?? new HoldfastError('unavailable', problem.message));
    if (replaced !== null && replaced !== lastReplaced)
      logger.warn({ reason: replaced.message }, 'the record of ids could not be read and was rewritten');
    lastReplaced = replaced;
  };
}
