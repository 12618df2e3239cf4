import type { Logger } from 'pino';
import { forEachYielding } from '../../async/pace.ts';
import { Queue } from '../../async/queue.ts';
import { HoldfastError, isShutdownError } from '../../errors.ts';
import type { Seeding } from '../../ids/seeding/seed.ts';
import { createFailureLog } from '../../log/failure-log.ts';
import { summarizeStep } from '../../plan/describe.ts';
import { keyOf } from '../../protocol/name.ts';
import type { PassOutcome, PassReport } from '../../reconcile/pass/pass.ts';
import type { PassError, Status } from '../../reconcile/status.ts';

/**
 * How many changes of one pass are logged one by one; more would bury everything else. Those of a first pass are the whole
 * fleet.
 */
const MAX_LINES = { first: 1, later: 50 };

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
 * Creates the log of passes: a line for each changed object, and for each problem when it first occurs and when it is
 * over; failures once a minute while they last. The returned function yields to other work between problems, and logs a pass
 * only after the one before. `now` returns Unix milliseconds.
 */
export function createPassLog(
  logger: Logger,
  now: () => number,
): (outcome: PassOutcome, status: Status) => Promise<void> {
  const logProblems = createProblemLog(logger);
  const logOrigin = createOriginLog(logger, now);
  const passes = createFailureLog(logger, now, {
    failing: 'pass failed',
    working: 'reconciling works again',
  });

  const queue = new Queue();
  const log = async (outcome: PassOutcome, status: Status): Promise<void> => {
    await logProblems(status.problems);
    logOrigin(status);
    if (outcome.ok) {
      passes.succeeded();
      await logReport(logger, outcome.report);
    } else if (!isShutdownError(outcome.error)) {
      passes.failed(outcome.error, standing(status.error));
    }
  };
  return (outcome, status) => queue.run(() => log(outcome, status));
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

/** Returns since when something fails and when it is tried again, in ISO 8601, as all times in the log. */
function standing(error: PassError | null): Record<string, string | null> {
  if (error === null) return {};
  const { since, retryAt } = error;
  // Without a time, the next try waits for a new commit.
  return { since: isoTime(since), retryAt: retryAt === null ? null : isoTime(retryAt) };
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}

/** Logs when origin stops working and when it works again. */
function createOriginLog(logger: Logger, now: () => number): (status: Status) => void {
  const fetches = createFailureLog(logger, now, {
    failing: 'origin cannot be used',
    working: 'origin works again',
  });

  return ({ origin }) => {
    const error = origin?.error ?? null;
    if (error === null) fetches.succeeded();
    else fetches.failed(new HoldfastError(error.kind, error.message, {}, origin?.cause), standing(error));
  };
}

async function logReport(logger: Logger, report: PassReport): Promise<void> {
  const { head, steps, seeding, rewrittenFrom, changedElsewhere } = report;
  const { revision } = head;
  if (changedElsewhere) logger.info({ revision }, 'another manager has changed the store; following it');
  if (seeding !== null && (seeding.names > 0 || seeding.record !== 'none')) {
    // If there is a record, there was a store before this one, and it is lost.
    const isExpected = seeding.cause === 'no-counters' && seeding.record === 'none';
    // At a first start, the status has the details.
    if (isExpected) logger.info(SEEDED[seeding.cause]);
    else logger.warn({ ...seeding }, SEEDED[seeding.cause]);
  }
  if (rewrittenFrom !== null) logger.warn({ from: rewrittenFrom, revision }, 'history was rewritten');
  if (steps.length === 0) return;
  await logSteps(logger, report);
  logger.info({ changes: steps.length, revision }, 'applied');
}

/** Logs each change; if they are many, only their number, unless the log is verbose. */
async function logSteps(logger: Logger, { head, steps, ids, isFirst }: PassReport): Promise<void> {
  const level = steps.length > MAX_LINES[isFirst ? 'first' : 'later'] ? 'debug' : 'info';
  if (!logger.isLevelEnabled(level))
    return logger.info(`${steps.length} objects applied; LOG_LEVEL=debug lists them`);
  const newIds = new Map(ids.map(({ kind, name, id }) => [keyOf(kind, name), id]));
  await forEachYielding(steps, (step) => {
    const { kind, name, origin } = step;
    const id = newIds.get(keyOf(kind, name));
    logger[level]({ kind, name, id, file: origin?.path, revision: head.revision }, summarizeStep(step));
  });
}
