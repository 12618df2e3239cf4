import type { Logger } from 'pino';
import { inTurns } from '../../async/pace.ts';
import { keyOf } from '../../desired/name.ts';
import { isOfShutdown } from '../../errors.ts';
import { summarizeStep } from '../../plan/describe.ts';
import type { PassOutcome, PassReport } from '../../reconcile/pass/pass.ts';
import type { Seeding } from '../../reconcile/past/seed.ts';
import type { PassError, Status } from '../../reconcile/status.ts';

/** Up to so many changes of one pass are logged one by one; more would bury everything else. */
const MAX_LINES = 50;

/** What each cause of seeding means for ids. */
const SEEDED: Readonly<Record<Seeding['cause'], string>> = {
  'no-counters':
    'the store had no counters, as at a first start or after its loss: ids of known names continue above the floor',
  'older-than-record':
    'the store is older than the record of ids: ids continue from the record, above the floor',
  'another-store':
    'the record of ids is that of another store: ids continue from the higher of both, above the floor',
  'other-history':
    'the branch has a history that this store did not follow: ids of names known only there continue above the floor',
};

/**
 * Logs what passes did: a line for each changed object, and for each problem and each failure when it comes and when it
 * goes. Gives way to others between problems.
 */
export function createPassLog(logger: Logger): (outcome: PassOutcome, status: Status) => Promise<void> {
  let told = new Map<string, { file: string; code: string; problem: string }>();
  let seen: Status['problems'] | null = null;
  let lastError: string | null = null;

  const tellOrigin = createOriginLog(logger);

  const tellProblems = async ({ problems }: Status): Promise<void> => {
    if (problems === seen) return;
    seen = problems;
    const [before, now]: [typeof told, typeof told] = [told, new Map()];
    told = now;
    await inTurns(problems, ({ file, line, column, code, message, severity }) => {
      const id = JSON.stringify([file, code, message]);
      const isTold = before.delete(id) || now.has(id);
      now.set(id, { file, code, problem: message });
      if (isTold) return;
      logger[severity === 'error' ? 'error' : 'warn'](
        { file, line, column, code, problem: message },
        'problem in desired state',
      );
    });
    await inTurns(before.values(), (problem) => logger.info(problem, 'problem in desired state is resolved'));
  };

  return async (outcome, status) => {
    await tellProblems(status);
    tellOrigin(status);
    if (outcome.ok) {
      if (lastError !== null) logger.info({ after: lastError }, 'reconciling works again');
      lastError = null;
      tellReport(logger, outcome.report);
      return;
    }
    if (isOfShutdown(outcome.error)) return;
    const { kind, message, cause } = outcome.error;
    if (message !== lastError)
      logger.error({ kind, reason: message, err: cause, retryAt: retryTime(status.error) }, 'pass failed');
    lastError = message;
  };
}

/** In ISO 8601, as all times of the log; null: with the next commit. */
function retryTime(error: PassError | null): string | null {
  return error?.retryAt == null ? null : new Date(error.retryAt).toISOString();
}

/** Logs when origin is lost and reached again, and which of many managers polls it. */
function createOriginLog(logger: Logger): (status: Status) => void {
  let lastMessage: string | null = null;
  let lastHolder: string | null = null;

  const tellReached = ({ origin }: Status): void => {
    const message = origin?.error?.message ?? null;
    const after = lastMessage;
    if (message === after) return;
    lastMessage = message;
    const details = { reason: message, err: origin?.cause, retryAt: retryTime(origin?.error ?? null) };
    if (message === null) logger.info({ after }, 'origin works again');
    else logger.error(details, 'origin cannot be used');
  };

  const tellHolder = ({ polling }: Status): void => {
    const by = polling?.by ?? null;
    if (by === null || by === lastHolder) return;
    lastHolder = by;
    logger.info({ by }, `${polling?.isOurs ? 'this' : 'another'} manager polls origin`);
  };

  return (status) => {
    tellReached(status);
    tellHolder(status);
  };
}

function tellReport(logger: Logger, report: PassReport): void {
  const { head, steps, ids, seeding, rewrittenFrom, changedElsewhere } = report;
  const { revision } = head;
  if (changedElsewhere.length > 0)
    logger.info({ revision }, 'another manager has changed the store; following it');
  if (seeding !== null && (seeding.names > 0 || seeding.record !== 'none')) {
    // A record means that there was a store before, which is lost.
    const isExpected = seeding.cause === 'no-counters' && seeding.record === 'none';
    logger[isExpected ? 'info' : 'warn']({ ...seeding }, SEEDED[seeding.cause]);
  }
  if (rewrittenFrom !== null) logger.warn({ from: rewrittenFrom, revision }, 'history was rewritten');
  if (steps.length === 0) return;
  // Ids are in the order of the steps: those of the first are among the first.
  const given = new Map(ids.slice(0, MAX_LINES).map(({ kind, name, id }) => [keyOf(kind, name), id]));
  for (const step of steps.slice(0, MAX_LINES)) {
    const id = given.get(keyOf(step.kind, step.name));
    logger.info(
      { kind: step.kind, name: step.name, id, file: step.origin?.path, revision },
      summarizeStep(step),
    );
  }
  logger.info({ changes: steps.length, revision }, 'applied');
}
