import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import { Pace } from '../../async/pace.ts';
import { withinLimit } from '../../change/wait-limit.ts';
import type { RecordStatus } from '../../ids/keeper/status.ts';
import { type Failure, type Origin, Reconcile, type StandingProblem } from '../../protocol/reconcile.ts';
import type { IndexProblem } from '../../reconcile/history/indexer.ts';
import type { PassError, StandingProblem as ProblemStatus, Status } from '../../reconcile/status.ts';
import type { Api } from '../api.ts';
import { sendParts } from '../json.ts';
import { bodyErrors, commonErrors, json } from '../openapi/replies.ts';
import { route } from '../openapi/route.ts';
import { REVISION_HEADER } from '../revision.ts';

const tag = 'manager';
const reconcileRoute = route('GET', '/api/v2/reconcile', {
  operationId: 'getReconcileStatus',
  action: 'read',
  summary: 'How far the manager has followed git',
  tag,
  reply: [200, json('How far it has followed git.', Reconcile)],
  errors: commonErrors,
});
const reconcileNowRoute = route('POST', '/api/v2/reconcile', {
  operationId: 'reconcileNow',
  action: 'operate',
  summary: 'Check the branch now',
  tag,
  reply: [200, json('How far it has followed git after this check.', Reconcile)],
  errors: { ...commonErrors, ...bodyErrors },
});

/** Replies with more problems than this are sent in parts of this size, each of which takes some milliseconds. */
const PROBLEMS_PER_PART = 1000;

/** The status of the reconciler, and a request to check the branch now. */
export function reconcileRoutes(
  app: FastifyInstance,
  { reconciler, keeper, waitLimit, followed, past }: Api,
): void {
  const shown = (): Shown => {
    return { followed, status: reconciler.status(), record: keeper.status(), history: past.problem() };
  };
  reconcileRoute(app, async (request, reply) => sendStatus(request, reply, shown()));

  reconcileNowRoute(app, async (request, reply) => {
    await withinLimit(waitLimit, reconciler.pollOrigin());
    const { applied } = reconciler.status();
    if (applied !== null) reply.header(REVISION_HEADER, applied.revision);
    return sendStatus(request, reply, shown());
  });
}

/** What the status is made of. */
interface Shown {
  followed: string;
  status: Status;
  record: RecordStatus;
  history: IndexProblem | null;
}

function sendStatus(request: FastifyRequest, reply: FastifyReply, shown: Shown): FastifyReply {
  if (shown.status.problems.length <= PROBLEMS_PER_PART) return reply.send(reconcileRecord(shown));
  return sendParts(request, reply, statusText(shown));
}

/** Yields the text of a long reply in parts, each made after the previous one is sent and other work has had its turn. */
async function* statusText(shown: Shown): AsyncGenerator<string> {
  const { status } = shown;
  const head = JSON.stringify(
    Reconcile.parse(reconcileRecord({ ...shown, status: { ...status, problems: [] } })),
  );
  // The list of problems is the last field, and empty.
  yield head.slice(0, -']}'.length);
  const pace = new Pace();
  for (let start = 0; start < status.problems.length; start += PROBLEMS_PER_PART) {
    const part = status.problems.slice(start, start + PROBLEMS_PER_PART);
    const texts = part.map((problem) => JSON.stringify(problemRecord(problem)));
    yield (start === 0 ? '' : ',') + texts.join(',');
    await pace.step();
  }
  yield ']}';
}

function reconcileRecord({ followed, status, record, history }: Shown): z.infer<typeof Reconcile> {
  const { state, branch, attempted, applied, rewritten, error, watchProblem, problems } = status;
  return {
    state,
    branch,
    origin: originRecord(followed, status),
    revision_attempted: attempted?.revision ?? null,
    attempted_at: time(attempted?.at),
    revision_applied: applied?.revision ?? null,
    applied_at: time(applied?.at),
    history_rewritten: rewritten === null ? null : { ...rewritten, at: isoTime(rewritten.at) },
    error: errorRecord(error),
    ids_seeded: seededRecord(status.seeded),
    ids_record: idsRecord(record),
    watch_problem: watchProblem && { ...watchProblem, since: isoTime(watchProblem.since) },
    history_problem: history && { ...history, since: isoTime(history.since) },
    problems: problems.map(problemRecord),
  };
}

function problemRecord(problem: ProblemStatus): z.infer<typeof StandingProblem> {
  return { ...problem, since: isoTime(problem.since) };
}

/** A clone on this machine is never polled. */
function originRecord(address: string, { origin }: Status): z.infer<typeof Origin> {
  return {
    address,
    reached_at: time(origin?.reachedAt),
    error: errorRecord(origin?.error ?? null),
  };
}

function seededRecord(seeded: Status['seeded']): z.infer<typeof Reconcile>['ids_seeded'] {
  if (seeded === null) return null;
  const { cause, record, names, kept, floor, historyIsComplete, at } = seeded;
  return { cause, record, names, kept, floor, history_is_complete: historyIsComplete, at: isoTime(at) };
}

function idsRecord({
  recorded,
  problem,
  replaced,
  otherManager,
}: RecordStatus): z.infer<typeof Reconcile>['ids_record'] {
  return {
    id_sequence: recorded?.idSequence ?? null,
    revision: recorded?.revision ?? null,
    written_at: time(recorded?.at),
    problem: problem === null ? null : { ...problem, since: isoTime(problem.since) },
    replaced: replaced === null ? null : { ...replaced, at: isoTime(replaced.at) },
    other_manager: otherManager === null ? null : { ...otherManager, at: isoTime(otherManager.at) },
  };
}

function errorRecord(error: PassError | null): z.infer<typeof Failure> | null {
  if (error === null) return null;
  const { kind, message, since, failures, retryAt } = error;
  return { kind, message, since: isoTime(since), failures, retry_at: time(retryAt) };
}

function time(milliseconds: number | null | undefined): string | null {
  return milliseconds === null || milliseconds === undefined ? null : isoTime(milliseconds);
}

function isoTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
