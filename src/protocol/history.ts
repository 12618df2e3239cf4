import * as z from 'zod';
import { EffectRecord, FileDiff, StepRecord } from './plan.ts';

/** The operations that raise ids without a commit. */
export const OPERATIONS = ['restart', 'prune', 'prune-all'] as const;
export type OperationKind = (typeof OPERATIONS)[number];

/** What an entry of the history is about. `ask`: somebody asked a device something, which changed nothing. */
export const ENTRY_KINDS = ['commit', ...OPERATIONS, 'refused', 'rewrite', 'switch', 'ask'] as const;
export type EntryKind = (typeof ENTRY_KINDS)[number];

/** `waiting`: held back by a problem, wholly or in part. `superseded`: refused, and another revision is applied since. */
export const ENTRY_STATES = ['applied', 'waiting', 'refused', 'superseded'] as const;
export type EntryState = (typeof ENTRY_STATES)[number];

/** `next` in the reply of a list that is read page by page. */
const Next = z.string().nullable().describe('`after` of the next page; null on the last one.');

const Actor = z
  .object({ name: z.string(), email: z.string().nullable(), via: z.enum(['git', 'api']) })
  .meta({ id: 'Actor' });

const PullRequest = z
  .object({
    number: z.int(),
    url: z.string().nullable().describe('Null if the address of the forge is not known.'),
  })
  .meta({ id: 'PullRequest' });

/** What became of one object. */
export const HistoryChange = z
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
  changes: z.array(HistoryChange),
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

/** An entry with its values before and after. */
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

/** What is different between two revisions. */
export const Diff = z
  .object({ from: z.string(), to: z.string(), ...difference })
  .meta({ id: 'RevisionDiff' });

const BlameLine = z
  .object({ text: z.string(), revision: z.string(), actor: Actor, at: z.iso.datetime() })
  .meta({ id: 'BlameLine' });

/** The lines of a file, each with the commit that wrote it. */
export const Blame = z
  .object({
    revision: z.string(),
    path: z.string().describe('Inside the repository.'),
    lines: z.array(BlameLine),
  })
  .meta({ id: 'Blame' });

/** A page of the history, newest first. */
export const HistoryPage = z
  .object({
    entries: z.array(HistoryEntry),
    next: Next,
    total: z.int(),
    complete: z.boolean().describe('Whether the history has everything that git has.'),
    indexed_until: z.iso
      .datetime()
      .nullable()
      .describe('While it is not complete: the time of the oldest commit that it has so far.'),
  })
  .meta({ id: 'HistoryPage' });

/** A restart or a prune, with all of its ids. */
export const Operation = z
  .object({
    id: z.int().describe('The `n` of its entry in the history.'),
    at: z.iso.datetime(),
    actor: z.string(),
    action: z.enum(OPERATIONS),
    name: z.string().nullable().describe('The app or device group; null for a prune of all device groups.'),
    request_id: z.string().nullable(),
    reason: z.string().nullable(),
    ids: z.record(z.string(), z.int()).describe('The new ids, by app or device group.'),
  })
  .meta({ id: 'Operation' });
/** A page of operations, newest first. */
export const OperationPage = z
  .object({ operations: z.array(Operation), next: Next })
  .meta({ id: 'OperationPage' });
