import { kindOf } from '../errors.ts';
import type { OriginWatch } from './origin-watch.ts';
import type { PassOutcome, PassRunner } from './pass/pass.ts';
import type { createAging, OriginStatus, PassError, Status } from './status.ts';

/** A pass that has ended. */
interface EndedPass {
  passes: PassRunner;
  outcome: PassOutcome;
  passError: PassError | null;
  /** The status before the pass. */
  before: Status;
  ageProblems: ReturnType<typeof createAging>;
  origin: OriginWatch;
  /** Unix milliseconds. */
  now: number;
}

/** Makes the status at the end of every pass, whether it succeeded or failed. No other code makes one. */
export async function summarize(pass: EndedPass): Promise<Status> {
  const { passes, outcome, passError, before, ageProblems, origin: watch, now } = pass;
  const store = passes.memory()?.store;
  const head = passes.head();
  const origin = watch.status();
  return {
    state: stateOf(outcome, origin),
    origin,
    branch: head?.branch?.replace(/^refs\/heads\//, '') ?? null,
    attempted: attemptedAfter(head?.revision ?? null, outcome, store?.attempted ?? before.attempted, now),
    applied: store?.applied ?? before.applied,
    error: passError ?? origin?.error ?? null,
    ...lastEvents(outcome, before, now),
    watchProblem: null,
    problems: await ageProblems(await passes.problems(), now),
  };
}

function stateOf(outcome: PassOutcome, origin: OriginStatus | null): Status['state'] {
  if (!outcome.ok) return kindOf(outcome.error) === 'refused' ? 'refused' : 'failing';
  return origin?.error == null ? 'applied' : 'failing';
}

/** What only one pass reports, and the status shows from then on. */
function lastEvents(outcome: PassOutcome, before: Status, at: number): Pick<Status, 'rewritten' | 'seeded'> {
  if (!outcome.ok) return { rewritten: before.rewritten, seeded: before.seeded };
  const { rewrittenFrom, seeding, head } = outcome.report;
  return {
    rewritten:
      rewrittenFrom === null ? before.rewritten : { from: rewrittenFrom, to: head.revision ?? '', at },
    seeded: seeding === null ? before.seeded : { ...seeding, at },
  };
}

function attemptedAfter(
  revision: string | null,
  outcome: PassOutcome,
  before: Status['attempted'],
  now: number,
): Status['attempted'] {
  if (revision === null || (outcome.ok && before?.revision === revision)) return before;
  return { revision, at: now };
}
