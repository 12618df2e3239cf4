import { kindOf } from '../errors.ts';
import type { OriginWatch } from './origin-watch.ts';
import type { PassOutcome, PassRunner } from './pass/pass.ts';
import type { createAging, OriginStatus, PassError, Status } from './status.ts';

/** A pass that is over, and what was known before it. */
interface Ending {
  passes: PassRunner;
  outcome: PassOutcome;
  passError: PassError | null;
  before: Status;
  ageProblems: ReturnType<typeof createAging>;
  origin: OriginWatch;
  now: number;
}

/** The one place where a status is made: at the end of every pass, also of a failed one. */
export async function summarize(ending: Ending): Promise<Status> {
  const { passes, outcome, passError, before, ageProblems, origin: watch, now } = ending;
  const store = passes.memory()?.store;
  const head = passes.head();
  const origin = watch.status();
  return {
    state: stateOf(outcome, origin),
    origin,
    polling: watch.polling(),
    branch: head?.branch?.replace(/^refs\/heads\//, '') ?? null,
    attempted: attemptedBy(head?.revision ?? null, outcome, store?.attempted ?? before.attempted, now),
    applied: store?.applied ?? before.applied,
    error: passError ?? origin?.error ?? null,
    ...found(outcome, before, now),
    problems: await ageProblems(await passes.problems(), now),
  };
}

function stateOf(outcome: PassOutcome, origin: OriginStatus | null): Status['state'] {
  if (!outcome.ok) return kindOf(outcome.error) === 'refused' ? 'refused' : 'failing';
  return origin?.error == null ? 'applied' : 'failing';
}

/** What a pass found once, and status goes on telling. */
function found(outcome: PassOutcome, before: Status, at: number): Pick<Status, 'rewritten' | 'seeded'> {
  if (!outcome.ok) return { rewritten: before.rewritten, seeded: before.seeded };
  const { rewrittenFrom, seeding, head } = outcome.report;
  return {
    rewritten:
      rewrittenFrom === null ? before.rewritten : { from: rewrittenFrom, to: head.revision ?? '', at },
    seeded: seeding === null ? before.seeded : { ...seeding, at },
  };
}

function attemptedBy(
  revision: string | null,
  outcome: PassOutcome,
  before: Status['attempted'],
  now: number,
): Status['attempted'] {
  if (revision === null || (outcome.ok && before?.revision === revision)) return before;
  return { revision, at: now };
}
