import { DESCRIPTORS } from '../desired/kinds.ts';
import { changesOf, type ObjectChange } from '../history/changes.ts';
import type { FolderCommit } from '../history/commit.ts';
import { type CommitEntry, commitEntry } from '../history/entry.ts';
import type { ChangeType } from '../plan/step.ts';
import { keyOf } from '../protocol/name.ts';
import { commitsBetween, keyAt } from '../rollback/later-changes.ts';
import { printable } from '../text/printable.ts';
import { parseCommand } from './arguments.ts';
import { COMMANDS } from './commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import { type OpenPast, parseObject, withPast } from './past.ts';
import { type Paint, painter } from './report.ts';
import { parseSince } from './since.ts';

/** How many entries are shown without `--limit`. */
const DEFAULT_LIMIT = 50;
/** How many changes of one commit are listed as text. */
const MAX_CHANGES = 8;
/** After so many older commits in a row, no younger one is expected: the times of commits need not be in order. */
const OLDER_IN_A_ROW = 500;

/** One commit of the history, with what it changed. */
export interface HistoryEntry {
  entry: CommitEntry;
  changes: readonly ObjectChange[];
}

/** Runs `holdfast history`: lists the commits that changed the fleet or one object, newest first. */
export async function history(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, format, options } = parseCommand<'text' | 'json'>(COMMANDS.history, args);
  const object = operand === undefined ? null : parseObject(operand);
  const query = {
    key: object === null ? null : keyOf(object.kind, object.name),
    since: options['since'] === undefined ? null : parseSince(String(options['since']), io.now()),
    limit: limitOf(options['limit'] as string | undefined),
  };
  const folder = options['desired-state'] as string | undefined;
  return withPast(folder, io, async (past) => {
    const { entries, hasMore } = await readEntries(past, query);
    if (format === 'json') io.write(`${JSON.stringify({ entries: entries.map(entryJson) }, null, 2)}\n`);
    else io.write(entries.map((entry) => entryText(entry, painter(io.hasColors))).join(''));
    if (entries.length === 0 && format === 'text') io.writeError('No commit changed that.\n');
    if (hasMore) io.writeError(`There are older ones: --limit ${query.limit * 2}, or --since 2w\n`);
    return EXIT.ok;
  });
}

function limitOf(text: string | undefined): number {
  const limit = text === undefined ? DEFAULT_LIMIT : Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit must be a whole number above 0, not "${text}"`);
}

interface HistoryQuery {
  /** Only commits that changed the file of this object; null for all. */
  key: string | null;
  /** Unix milliseconds; null for all. */
  since: number | null;
  limit: number;
}

async function readEntries(
  past: OpenPast,
  { key, since, limit }: HistoryQuery,
): Promise<{ entries: HistoryEntry[]; hasMore: boolean }> {
  const entries: HistoryEntry[] = [];
  let older = 0;
  for await (const commit of commitsBetween(past.revisions, past.revision, null)) {
    const isOlder = since !== null && commit.time * 1000 < since;
    older = isOlder ? older + 1 : 0;
    if (older > OLDER_IN_A_ROW) break;
    if (isOlder || (key !== null && !commit.files.some((file) => keyAt(file) === key))) continue;
    if (entries.length === limit) return { entries, hasMore: true };
    entries.push(await readEntry(commit, key, past));
  }
  return { entries, hasMore: false };
}

async function readEntry(commit: FolderCommit, key: string | null, past: OpenPast): Promise<HistoryEntry> {
  const files = key === null ? commit.files : commit.files.filter((file) => keyAt(file) === key);
  const found = await changesOf(files, past.revisions.blob, past.defaults);
  return { entry: commitEntry(commit, null), changes: found.map(({ change }) => change) };
}

/** Returns an entry as `GET /api/v2/history` has it; the ids are known to a manager only. */
export function entryJson({ entry, changes }: HistoryEntry): Record<string, unknown> {
  const { revision, at, actor, authors, subject, pullRequest, requestId } = entry;
  return {
    kind: 'commit',
    at: new Date(at).toISOString(),
    revision,
    actor,
    authors,
    subject,
    pull_request: pullRequest,
    request_id: requestId,
    changes: changes.map(({ kind, name, change, fields }) => ({
      object: keyOf(kind, name),
      change,
      fields,
      ids: null,
    })),
  };
}

const SIGNS: Readonly<Record<ChangeType, readonly [string, 'green' | 'yellow' | 'red']>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  delete: ['-', 'red'],
};

function entryText({ entry, changes }: HistoryEntry, paint: Paint): string {
  const { revision, at, authors, subject } = entry;
  const who = authors.length > 2 ? `${authors[0]} and ${authors.length - 1} others` : authors.join(', ');
  const head = `${paint('yellow', revision.slice(0, 12))}  ${paint('dim', localTime(at))}  ${paint('bold', printable(subject))}  ${paint('dim', printable(who))}`;
  const lines = changes.slice(0, MAX_CHANGES).map((change) => changeText(change, paint));
  const more = changes.length > MAX_CHANGES ? [`    and ${changes.length - MAX_CHANGES} more`] : [];
  return `${[head, ...lines, ...more].join('\n')}\n`;
}

function changeText({ kind, name, change, fields, isInvalid }: ObjectChange, paint: Paint): string {
  const [sign, color] = SIGNS[change];
  const what = fields.length > 0 ? `: ${fields.join(', ')}` : '';
  return `    ${paint(color, `${sign} ${DESCRIPTORS[kind].noun} ${name}`)}${what}${isInvalid ? ' (not valid)' : ''}`;
}

/** Returns a time in Unix milliseconds as people here write it: `2026-11-24 10:11`. */
export function localTime(at: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
