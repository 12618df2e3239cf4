import type { Logger } from 'pino';
import type { RecordStatus } from '../../reconcile/record/recorder.ts';

/** Logs when the recording of ids begins to fail, fails for another reason, or works again. */
export function createRecordLog(logger: Logger): (status: RecordStatus, error?: unknown) => void {
  let last: RecordStatus = { recorded: null, problem: null, replaced: null };
  return (status, error) => {
    const { problem, replaced } = status;
    if (problem !== null && problem.message !== last.problem?.message)
      logger.error({ reason: problem.message, err: error }, 'ids are not recorded');
    if (problem === null && last.problem !== null) logger.info('ids are recorded again');
    if (replaced !== null && replaced !== last.replaced)
      logger.warn({ reason: replaced.message }, 'the record of ids could not be read and was rewritten');
    last = status;
  };
}
