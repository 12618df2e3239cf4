import * as z from 'zod';
import { effectRecord } from '../plan/records.ts';
import { EffectRecord, FileDiff, StepRecord } from '../protocol/plan.ts';
import { ENTRY_KINDS, ENTRY_STATES, type ListedEntry } from '../store/entry.ts';

const Actor = z
  .object({ name: z.string(), email: z.string().nullable(), via: z.enum(['git', 'api']) })
  .meta({ id: 'Actor' });

const PullRequest = z
  .object({
    number: z.int(),
    url: z.string().nullable().describe('Null if the address of the forge is not known.'),
  })
  .meta({ id: 'PullRequest' });

const Change = z
  .object({
    object: z.string().describe('Such as `app/web`.'),
    change: z.enum(['create', 'update', 'delete']),
    fields: z
      .array(z.string())
      .describe('The fields that an update changed; none if only its file moved, or if a side is not valid.'),
    ids: z
      .record(z.string(), z.int())
      .nullable()
      .describe('The ids that it gave; null for what is older than the store.'),
    path: z.string().nullable().describe('The path of its file inside the repository.'),
    moved_from: z.string().nullable().describe('The path that the file had before, if it moved.'),
  })
  .meta({ id: 'HistoryChange' });

const shape = {
  n: z.int().describe('Falls from entry to entry; what is older than the store counts down from 0.'),
  kind: z.enum(ENTRY_KINDS),
  at: z.iso.datetime().describe('When the commit was made, the operation done, the rewrite seen.'),
  applied_at: z.iso.datetime().nullable(),
  state: z.enum(ENTRY_STATES),
  revision: z.string().nullable(),
  applied_with: z.string().nullable().describe('The revision whose pass applied it.'),
  actor: Actor,
  authors: z.array(z.string()),
  subject: z.string(),
  pull_request: PullRequest.nullable(),
  request_id: z.string().nullable(),
  reason: z
    .string()
    .nullable()
    .describe('Why an operation was asked for. A commit has its reason in its message.'),
  changes: z.array(Change),
  changes_total: z.int(),
  effects: z.array(EffectRecord),
  effects_total: z.int(),
  devices: z.int().nullable().describe('How many devices it acts on; null while they are not known.'),
};

/** An entry of the history. */
export const HistoryEntry = z.object(shape).meta({ id: 'HistoryEntry' });

const difference = {
  steps: z.array(StepRecord).describe('The first 500.'),
  steps_total: z.int(),
  files: z.array(FileDiff).describe('The first 500.'),
  files_total: z.int(),
};

export const EntryDetail = z
  .object({
    ...shape,
    message: z
      .string()
      .nullable()
      .describe('The whole message of the commit; null if git has lost it, and for what is no commit.'),
    gone: z.boolean().describe('Whether git has lost the commit, so that there are no values.'),
    ...difference,
  })
  .meta({ id: 'HistoryEntryDetail' });

export const Diff = z
  .object({ from: z.string(), to: z.string(), ...difference })
  .meta({ id: 'RevisionDiff' });

const BlameLine = z
  .object({ text: z.string(), revision: z.string(), actor: Actor, at: z.iso.datetime() })
  .meta({ id: 'BlameLine' });

export const Blame = z
  .object({
    revision: z.string(),
    path: z.string().describe('Inside the repository.'),
    lines: z.array(BlameLine),
  })
  .meta({ id: 'Blame' });

/** Returns an entry in the form that the API shows. */
export function entryRecord(entry: ListedEntry): z.infer<typeof HistoryEntry> {
  const { at, appliedAt, appliedWith, pullRequest, requestId, changesTotal, effectsTotal, ...rest } = entry;
  return {
    n: rest.n,
    kind: rest.kind,
    at: new Date(at).toISOString(),
    applied_at: appliedAt === null ? null : new Date(appliedAt).toISOString(),
    state: rest.state,
    revision: rest.revision,
    applied_with: appliedWith,
    actor: rest.actor,
    authors: rest.authors,
    subject: rest.subject,
    pull_request: pullRequest,
    request_id: requestId,
    reason: rest.reason,
    changes: rest.changes,
    changes_total: changesTotal,
    effects: rest.effects.map(effectRecord),
    effects_total: effectsTotal,
    devices: null,
  };
}
