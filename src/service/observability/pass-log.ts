import type { Logger } from 'pino';
import { forEachYielding } from '../../async/pace.ts';
import { isShutdownError } from '../../errors.ts';
import { summarizeStep } from '../../plan/describe.ts';
import { keyOf } from '../../protocol/name.ts';
import type { PassOutcome, PassReport } from '../../reconcile/pass/pass.ts';
import type { Seeding } from '../../reconcile/seeding/seed.ts';
import type { PassError, Status } from '../../reconcile/status.ts';

/** How many changes of one pass are logged one by one; more would bury everything else. */
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
 * Creates the log of passes: a line for each changed object, and for each problem and each failure when it first occurs
 * and when it is over. The returned function yields to other work between problems.
 */
export function createPassLog(logger: Logger): (outcome: PassOutcome, status: Status) => Promise<void> {
  const logProblems = createProblemLog(logger);
  const logOrigin = createOriginLog(logger);
  let lastError: string | null = null;

  return async (outcome, status) => {
    await logProblems(status.problems);
    logOrigin(status);
    if (outcome.ok) {
      if (lastError !== null) logger.info({ after: lastError }, 'reconciling works again');
      lastError = null;
      logReport(logger, outcome.report);
      return;
    }
    if (isShutdownError(outcome.error)) return;
    const { kind, message, cause } = outcome.error;
    if (message !== lastError)
      logger.error({ kind, reason: message, err: cause, retryAt: retryTime(status.error) }, 'pass failed');
    lastError = message;
  };
}

/** Logs each problem once, and once more when it is resolved. */
function createProblemLog(logger: Logger): (problems: Status['problems']) => Promise<void> {
  let logged = new Map<string, { file: string; code: string; problem: string }>();
  let lastProblems: Status['problems'] | null = null;

  return async (problems) => {
    if (problems === lastProblems) return;
    lastProblems = problems;
    const before = logged;
    const now: typeof logged = new Map();
    logged = now;
    await forEachYielding(problems, ({ file, line, column, code, message, severity }) => {
      const id = JSON.stringify([file, code, message]);
      const isLogged = before.delete(id) || now.has(id);
      now.set(id, { file, code, problem: message });
      if (isLogged) return;
      logger[severity === 'error' ? 'error' : 'warn'](
        { file, line, column, code, problem: message },
        'problem in desired state',
      );
    });
    await forEachYielding(before.values(), (problem) =>
      logger.info(problem, 'problem in desired state is resolved'),
    );
  };
}

/** Returns the time of the next try in ISO 8601, as all times in the log; null if that waits for a new commit. */
function retryTime(error: PassError | null): string | null {
  return error?.retryAt == null ? null : new Date(error.retryAt).toISOString();
}

/** Logs when origin stops working and when it works again, and which of several managers polls it. */
function createOriginLog(logger: Logger): (status: Status) => void {
  let lastMessage: string | null = null;
  let lastHolder: string | null = null;

  const logError = ({ origin }: Status): void => {
    const message = origin?.error?.message ?? null;
    const after = lastMessage;
    if (message === after) return;
    lastMessage = message;
    const details = { reason: message, err: origin?.cause, retryAt: retryTime(origin?.error ?? null) };
    if (message === null) logger.info({ after }, 'origin works again');
    else logger.error(details, 'origin cannot be used');
  };

  const logHolder = ({ polling }: Status): void => {
    const by = polling?.by ?? null;
    if (by === null || by === lastHolder) return;
    lastHolder = by;
    logger.info({ by }, `${polling?.isOurs ? 'this' : 'another'} manager polls origin`);
  };

  return (status) => {
    logError(status);
    logHolder(status);
  };
}

function logReport(logger: Logger, report: PassReport): void {
  const { head, steps, ids, seeding, rewrittenFrom, changedElsewhere } = report;
  const { revision } = head;
  if (changedElsewhere.length > 0)
    logger.info({ revision }, 'another manager has changed the store; following it');
  if (seeding !== null && (seeding.names > 0 || seeding.record !== 'none')) {
    // If there is a record, there was a store before this one, and it is lost.
    const isExpected = seeding.cause === 'no-counters' && seeding.record === 'none';
    logger[isExpected ? 'info' : 'warn']({ ...seeding }, SEEDED[seeding.cause]);
  }
  if (rewrittenFrom !== null) logger.warn({ from: rewrittenFrom, revision }, 'history was rewritten');
  if (steps.length === 0) return;
  // Ids are in the order of the steps, and a step has at most one: so the ids of the first steps are among the first
  // ids.
  const newIds = new Map(ids.slice(0, MAX_LINES).map(({ kind, name, id }) => [keyOf(kind, name), id]));
  for (const step of steps.slice(0, MAX_LINES)) {
    const id = newIds.get(keyOf(step.kind, step.name));
    logger.info(
      { kind: step.kind, name: step.name, id, file: step.origin?.path, revision },
      summarizeStep(step),
    );
  }
  logger.info({ changes: steps.length, revision }, 'applied');
}
