import type { Actor } from '../history/entry.ts';
import type { PullRequest } from '../history/message.ts';
import type { Effect } from '../plan/effect.ts';
import type { ChangeType } from '../plan/step.ts';
import type { EntryKind, EntryState } from '../protocol/history.ts';
import { parseKey } from '../protocol/name.ts';
import { inRows, joined, type Lists } from './act.ts';

/** The kinds of the entries of a revision that was applied. */
export const APPLYING_KINDS = ['commit', 'rewrite', 'switch'] as const satisfies readonly EntryKind[];

/** What became of one object. It has no values of fields. */
export interface EntryChange {
  /** Such as `app/web`. */
  object: string;
  change: ChangeType;
  /** The fields that an update changed. */
  fields: string[];
  /** The ids that it gave, by the name of the id (`app_id`); null if that is not known. */
  ids: Record<string, number> | null;
  /** The path of its file; null if it has none. In entries it begins at the repository, until then at the folder. */
  path: string | null;
  /** The path that its file had before, if it moved; otherwise null. */
  moved_from: string | null;
}

/** An entry of the history. Times are Unix milliseconds. */
export interface Entry extends Lists<EntryChange> {
  /** Those of the store's life count up from 1, older ones down from 0. */
  n: number;
  kind: EntryKind;
  /** When the commit was made, the operation done, the rewrite seen. */
  at: number;
  appliedAt: number | null;
  /** The id sequence of the store since then (`StoreState.idSequence`); null for what the store did not apply. */
  idSequence: number | null;
  state: EntryState;
  revision: string | null;
  /** The revision whose pass applied it. */
  appliedWith: string | null;
  actor: Actor;
  authors: string[];
  subject: string;
  pullRequest: PullRequest | null;
  requestId: string | null;
  /** Why an operation was asked for; null if nobody said, and of commits, whose messages say it. */
  reason: string | null;
  effects: Effect[];
}

/** An entry of a list, with the first of its changes and effects and the number of all. */
export interface ListedEntry extends Entry {
  changesTotal: number;
  effectsTotal: number;
}

/** How far the history is indexed. */
export interface HistoryState {
  /** The newest act that entries have; it and all before it are deleted. */
  act: number;
  /** The revision that this act applied, and the branch; null if there is none yet. */
  revision: string | null;
  branch: string | null;
  /** The numbers of the newest and of the oldest entry; 0 and 1 if there are none. */
  newest: number;
  oldest: number;
  /** Where the older history goes on; null if there is no more of it, or none yet. */
  fill: { from: string; skipsFirst: boolean } | null;
  /** Whether the clone is shallow, so that the rest of the older history is not known. */
  isCut: boolean;
  /** The time of the oldest commit that was indexed; null if there is none. */
  until: number | null;
}

/** Entries to add, and how far the history is indexed with them. */
export interface EntryBatch {
  /** The state that the caller has read. */
  expected: HistoryState | null;
  next: HistoryState;
  entries: readonly Entry[];
  /** Whether refused revisions are superseded now. */
  supersedes: boolean;
}

/** Selects entries that have all of these properties. */
export interface EntryQuery {
  /** An entry has at least one key of each of these lists (`entryKeys`). */
  keys: readonly (readonly string[])[];
  kinds: readonly EntryKind[] | null;
  /** Unix milliseconds; both ends belong to it. */
  since: number | null;
  until: number | null;
  /** A text in the subject or in the name of an object, in any case. */
  text: string | null;
}

/** A page of entries, newest first, and how many match on all pages. */
export interface EntryPage {
  entries: ListedEntry[];
  total: number;
}

/** The keys by which entries are found. */
export const keys = {
  object: (object: string) => `object:${object}`,
  field: (field: string) => `field:${field}`,
  /** A field of this object. */
  objectField: (object: string, field: string) => `object:${object} field:${field}`,
  actor: (name: string) => `actor:${name}`,
  revision: (revision: string) => `revision:${revision}`,
  request: (id: string) => `request:${id}`,
  state: (state: EntryState) => `state:${state}`,
} as const;

/** Returns all keys of an entry. */
export function entryKeys({ changes, actor, authors, revision, requestId, state }: Entry): string[] {
  const people = [actor.name, ...(actor.email === null ? [] : [actor.email]), ...authors];
  return [
    ...new Set([
      keys.state(state),
      ...people.map(keys.actor),
      ...(revision === null ? [] : [keys.revision(revision)]),
      ...(requestId === null ? [] : [keys.request(requestId)]),
      ...changeKeys(changes),
    ]),
  ];
}

function changeKeys(changes: readonly EntryChange[]): string[] {
  const all = changes.flatMap(({ object, fields }) => [
    keys.object(object),
    ...fields.flatMap((field) => [keys.field(field), keys.objectField(object, field)]),
  ]);
  return [...new Set(all)];
}

/** Returns the text in which `EntryQuery.text` is searched. */
export function entryText({ subject, changes }: Entry): string {
  return `${subject}\n${namesIn(changes)}`.toLowerCase();
}

function namesIn(changes: readonly EntryChange[]): string {
  return changes.map(({ object }) => parseKey(object).name).join('\n');
}

/** How many changes and effects a list shows of an entry. */
const LISTED = 20;
const ROW_LENGTH = 1000;

/** What finds an entry: its keys, and the text in which `EntryQuery.text` is searched. */
export interface Searched {
  keys: string[];
  text: string;
}

/**
 * Returns what finds the entry in one part for each of `entryRows`, so that none grows with the changes. The first part
 * has the keys of the entry itself, and those of as many changes as most entries have.
 */
export function searchedParts(entry: Entry): [Searched, ...Searched[]] {
  const { changes } = entry;
  const first = { ...entry, changes: changes.slice(0, LISTED + ROW_LENGTH) };
  const later = inRows({ changes, effects: [] }, LISTED, ROW_LENGTH).slice(2);
  return [
    { keys: entryKeys(first), text: entryText(first) },
    { keys: [], text: '' },
    ...later.map(({ changes }) => ({ keys: changeKeys(changes), text: namesIn(changes).toLowerCase() })),
  ];
}

/** The revision that was applied with an entry. */
export function appliedRevision({ appliedWith, revision }: Entry): string | null {
  return appliedWith ?? revision;
}

/** Returns the entry as the texts of rows; the first one is what a list shows. */
export function entryRows(entry: Entry): string[] {
  const { changes, effects, n: _, ...rest } = entry;
  const totals = { changesTotal: changes.length, effectsTotal: effects.length };
  return inRows({ changes, effects }, LISTED, ROW_LENGTH).map((row, index) =>
    JSON.stringify(index === 0 ? { ...rest, ...row, ...totals } : row),
  );
}

/** Returns the entry that has these rows, or its first ones. */
export function entryOf(n: number, rows: readonly string[]): ListedEntry {
  const parts = rows.map((row) => JSON.parse(row) as ListedEntry);
  return { ...(parts[0] as ListedEntry), n, ...joined(parts) };
}

/** Returns the first row of a refused entry after it was superseded. */
export function superseded(row: string): string {
  return JSON.stringify({ ...JSON.parse(row), state: 'superseded' satisfies EntryState });
}

/** Whether two states are the same. */
export function isSameState(a: HistoryState | null, b: HistoryState | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
