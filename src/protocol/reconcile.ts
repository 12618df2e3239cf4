import * as z from 'zod';
import { problemShape } from './plan.ts';

/** A problem with the time at which it was first found, in ISO 8601. */
export const StandingProblem = z
  .object({ ...problemShape, since: z.string() })
  .meta({ id: 'StandingProblem' });

/** Why something fails, since when, and when it is tried again. */
export const Failure = z
  .object({
    kind: z.string(),
    message: z.string(),
    since: z.string(),
    failures: z.int(),
    retry_at: z.string().nullable(),
  })
  .meta({ id: 'Failure' });

/** The repository that is followed. */
export const Origin = z
  .object({
    address: z.string(),
    reached_at: z.string().nullable(),
    error: Failure.nullable(),
  })
  .meta({ id: 'OriginStatus' });

const Rewritten = z
  .object({ from: z.string(), to: z.string(), at: z.string() })
  .meta({ id: 'RewrittenHistory' });

const Seeded = z
  .object({
    cause: z.enum(['no-counters', 'older-than-record', 'another-store', 'other-history']),
    record: z.enum(['used', 'none', 'damaged']),
    names: z.int(),
    kept: z.int(),
    floor: z.int(),
    history_is_complete: z.boolean(),
    at: z.string(),
  })
  .meta({ id: 'SeededIds' });

const IdsRecord = z
  .object({
    id_sequence: z.int().nullable(),
    revision: z.string().nullable(),
    written_at: z.string().nullable(),
    problem: z.object({ message: z.string(), since: z.string() }).meta({ id: 'IdsRecordProblem' }).nullable(),
    replaced: z.object({ message: z.string(), at: z.string() }).meta({ id: 'ReplacedIdsRecord' }).nullable(),
    other_manager: z.object({ fleet: z.string(), at: z.string() }).meta({ id: 'OtherManager' }).nullable(),
  })
  .meta({ id: 'IdsRecord' });

/** How far a manager has followed git. */
export const Reconcile = z
  .object({
    state: z.enum(['starting', 'applied', 'refused', 'failing']),
    branch: z.string().nullable(),
    origin: Origin,
    revision_attempted: z.string().nullable(),
    attempted_at: z.string().nullable(),
    revision_applied: z.string().nullable(),
    applied_at: z.string().nullable(),
    history_rewritten: Rewritten.nullable(),
    error: Failure.nullable(),
    ids_seeded: Seeded.nullable(),
    ids_record: IdsRecord,
    watch_problem: z
      .object({ message: z.string(), since: z.string() })
      .meta({ id: 'WatchProblem' })
      .nullable(),
    history_problem: z
      .object({ message: z.string(), since: z.string() })
      .meta({ id: 'HistoryProblem' })
      .nullable(),
    problems: z.array(StandingProblem),
  })
  .meta({ id: 'Reconcile' });
