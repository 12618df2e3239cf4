import * as z from 'zod';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import type { Step } from '../../plan/step.ts';
import { EntryDetail, type HistoryChange, HistoryEntry, HistoryPage } from '../../protocol/history.ts';
import { KINDS, keyOf } from '../../protocol/name.ts';
import { EffectRecord, FileDiff, StepRecord } from '../../protocol/plan.ts';
import { isMapValue } from '../../protocol/values.ts';
import {
  getReply,
  type ManagerAddress,
  refusalText,
  shownAddress,
  unexpectedText,
} from '../manager/client.ts';
import type { EntryHead, ListedChange, ListedEntry } from './history-text.ts';
import { neverWas } from './wrong-object.ts';

const Time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text));

/** What is read of an entry. Kinds and states are texts: a newer manager can have more of them. */
const Entry = HistoryEntry.omit({ effects: true, effects_total: true, devices: true }).extend({
  kind: z.string(),
  at: Time,
  applied_at: Time.nullable(),
  state: z.string(),
});
export type ManagerEntry = z.infer<typeof Entry>;

/** Passes over what a newer manager has in another form. */
function known<T>(schema: z.ZodType<T>) {
  return z.array(z.unknown()).transform((list) =>
    list.flatMap((each) => {
      const read = schema.safeParse(each);
      return read.success ? [read.data] : [];
    }),
  );
}

const Detail = EntryDetail.omit({ effects_total: true, devices: true }).extend({
  ...Entry.shape,
  effects: known(EffectRecord),
  steps: known(StepRecord),
  files: known(FileDiff),
});
export type ManagerDetail = z.infer<typeof Detail>;

const Page = HistoryPage.omit({ total: true }).extend({
  entries: z.array(Entry),
  indexed_until: Time.nullable(),
});

/** The reply of a manager: as it is, for programs, and as this program reads it. */
export interface Parsed<T> {
  json: Readonly<Record<string, unknown>>;
  read: T;
}

/** Selects entries of the history. */
export interface HistoryQuery {
  /** Such as `app/web`; null for all. */
  key: string | null;
  /** Unix milliseconds; null for all. */
  since: number | null;
  limit: number;
}

/** The newest entries that were asked for. */
export interface ManagerHistory {
  entries: Parsed<ManagerEntry>[];
  hasMore: boolean;
  /** Whether the manager's history has all that git has. */
  isComplete: boolean;
  /** How far back it goes while it is not complete, Unix milliseconds; null if that is not known. */
  until: number | null;
}

/** The most entries of a page. */
const MAX_PAGE = 1000;

/** Reads entries, newest first. Rejects as `unavailable` if the manager does not give them. */
export async function readHistory(
  manager: ManagerAddress,
  { key, since, limit }: HistoryQuery,
): Promise<ManagerHistory> {
  const entries: Parsed<ManagerEntry>[] = [];
  const query = new URLSearchParams();
  if (key !== null) query.set('object', key);
  if (since !== null) query.set('since', new Date(since).toISOString());
  for (;;) {
    query.set('page_size', String(Math.min(limit - entries.length, MAX_PAGE)));
    const { json, read } = await readReply(manager, `history?${query}`, Page);
    const raw = json['entries'] as Record<string, unknown>[];
    entries.push(...read.entries.map((entry, index) => ({ json: raw[index] ?? {}, read: entry })));
    const { next, complete: isComplete, indexed_until: until } = read;
    if (next === null || read.entries.length === 0 || entries.length >= limit)
      return { entries, hasMore: next !== null, isComplete, until };
    query.set('after', next);
  }
}

/**
 * Resolves to the revision that a manager had applied at a time, in Unix milliseconds; null if it had applied none yet. Rejects as
 * `unavailable` if it does not say.
 */
export async function appliedBy(manager: ManagerAddress, time: number): Promise<string | null> {
  // Neither times of commits nor their order say when they were applied: numbers do, which rise from 1.
  const query = new URLSearchParams({ kind: 'commit,rewrite,switch', page_size: String(MAX_PAGE) });
  for (;;) {
    const { read } = await readReply(manager, `history?${query}`, Page);
    const found = read.entries.find(({ n, applied_at: at }) => n < 1 || (at !== null && at <= time));
    if (found !== undefined) return found.applied_with;
    if (read.next === null) return null;
    query.set('after', read.next);
  }
}

/**
 * Reads one entry by its number, a commit, branch or tag. Rejects as `absent` if the manager does not know it, and as
 * `unavailable` if it does not answer.
 */
export function readEntry(manager: ManagerAddress, name: string): Promise<Parsed<ManagerDetail>> {
  return readReply(manager, `history/${encodeURIComponent(name)}`, Detail, name);
}

/** Rejects as `absent` if a manager whose history is complete never had an object. */
export async function requireKnown(manager: ManagerAddress, key: string): Promise<void> {
  const { entries } = await readHistory(manager, { key, since: null, limit: 1 });
  if (entries.length > 0) return;
  const keys: string[] = [];
  for (const kind of KINDS) {
    const { collection } = DESCRIPTORS[kind];
    const { body } = await getReply(manager, collection);
    const names = isMapValue(body) && Array.isArray(body[collection]) ? body[collection] : [];
    keys.push(...names.map((name) => `${kind}/${name}`));
  }
  if (!keys.includes(key)) throw neverWas(key, keys, `the history of ${shownAddress(manager)}`);
}

const HINTS: Readonly<Record<number, string>> = {
  403: '; that account may not read it',
  404: '; it is not Holdfast, or it is an older version without a history',
};

async function readReply<T>(
  manager: ManagerAddress,
  path: string,
  schema: z.ZodType<T>,
  name = '',
): Promise<Parsed<T>> {
  const reply = await getReply(manager, path);
  const { status, body } = reply;
  if (
    status === 404 &&
    isMapValue(body) &&
    (body['revision_exists'] === false || body['entry_exists'] === false)
  )
    throw new HoldfastError(
      'absent',
      `"${name}" is no number, commit, branch or tag that ${shownAddress(manager)} knows`,
    );
  if (status !== 200) throw new HoldfastError('unavailable', refusalText(manager, path, reply, HINTS));
  const read = schema.safeParse(body);
  if (!read.success) throw new HoldfastError('unavailable', unexpectedText(manager, path));
  return { json: body as Record<string, unknown>, read: read.data };
}

/** How many objects are shown with their ids. */
const MAX_IDS = 8;

/** Returns an entry in the form of a list. */
export function listedEntry(entry: ManagerEntry): ListedEntry {
  const { n, at, authors, revision, state, subject } = entry;
  const isCommit = revision !== null && (entry.kind === 'commit' || entry.kind === 'refused');
  return {
    mark: isCommit ? revision : String(n),
    at,
    authors,
    subject,
    state: state === 'applied' ? null : state,
    changes: entry.changes.map(listedChange),
    changesTotal: entry.changes_total,
  };
}

/** Returns a change in the form of a list. */
export function listedChange({ object, change, fields, ids }: z.infer<typeof HistoryChange>): ListedChange {
  const [kind = '', name = ''] = object.split('/');
  const noun: string = Object.hasOwn(DESCRIPTORS, kind)
    ? DESCRIPTORS[kind as keyof typeof DESCRIPTORS].noun
    : kind;
  const note = Object.entries(ids ?? {}).map(([id, value]) => `${id} ${value}`);
  return { object: `${noun} ${name}`, change, fields, note: note.join(', ') };
}

/** Returns what is said of an entry before its changes; `timeText` writes times. */
export function headOf(entry: ManagerDetail, timeText: (at: number) => string): EntryHead {
  const { mark } = listedEntry(entry);
  const { state, applied_at: appliedAt, applied_with: appliedWith, request_id: request, message } = entry;
  const ids = entry.changes.map(listedChange).filter(({ note }) => note !== '');
  const isCommit = mark === entry.revision;
  const withOther =
    appliedWith === null || appliedWith === entry.revision ? '' : `, with ${appliedWith.slice(0, 12)}`;
  const applied = appliedAt === null ? '' : ` ${timeText(appliedAt)}${withOther}`;
  return {
    title: isCommit ? `commit ${mark}` : `entry ${mark}`,
    actor: entry.actor,
    authors: entry.authors,
    at: entry.at,
    pullRequest: entry.pull_request,
    rows: [
      ...(isCommit ? [['State', `${state}${applied}`] as const] : []),
      ...ids.map(({ object, note }) => ['Ids', `${object}: ${note}`] as const).slice(0, MAX_IDS),
      ...(ids.length > MAX_IDS ? [['', `and ${ids.length - MAX_IDS} more`] as const] : []),
      ...(entry.reason === null ? [] : [['Reason', entry.reason] as const]),
      ...(request === null ? [] : [['Request', request] as const]),
    ],
    message: message ?? entry.subject,
  };
}

/** Returns the steps of an entry, with the paths of their files. */
export function stepsOf({ steps, changes }: ManagerDetail): Step[] {
  return steps.map(({ kind, name, before, after }) => {
    const path = changes.find(({ object }) => object === keyOf(kind, name))?.path ?? null;
    const origin = path === null || after === null ? null : { path, blob: '' };
    return { kind, name, before, after, origin } as unknown as Step;
  });
}
