import { DESCRIPTORS } from '../../desired/kinds.ts';
import { HoldfastError } from '../../errors.ts';
import { changesOf, type ObjectChange } from '../../history/changes.ts';
import type { FolderCommit } from '../../history/commit.ts';
import { type CommitEntry, commitEntry } from '../../history/entry.ts';
import { keyOf } from '../../protocol/name.ts';
import { commitsBetween, keyAt } from '../../rollback/later-changes.ts';
import { escapeWorkflowCommands } from '../../text/printable.ts';
import { managerToAsk } from '../manager/ask.ts';
import type { ManagerAddress } from '../manager/client.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { painter } from '../shell/report.ts';
import { entryText, type ListedChange, type ListedEntry, localTime } from './history-text.ts';
import { type HistoryQuery, listedEntry, readHistory, requireKnown } from './manager-history.ts';
import { type OpenPast, parseObject, withPast, withShallowHint } from './past.ts';
import { parseSince } from './since.ts';
import { neverWas } from './wrong-object.ts';

/** How many entries are shown without `--limit`. */
const DEFAULT_LIMIT = 50;
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
  const manager = managerToAsk(options, io);
  if (manager !== null) return managerHistory(manager, query, format, io);
  const folder = options['desired-state'] as string | undefined;
  return withPast(folder, io, async (past) => {
    const { isShallow } = past.revisions;
    const { entries, hasMore } = await readEntries(past, query);
    if (entries.length === 0) await requireAny(past, query);
    const json = { entries: entries.map(entryJson) };
    await write({ json, listed: entries.map(listedCommit), query, hasMore, isCut: isShallow }, format, io);
    if (isShallow && !hasMore)
      io.writeError('This clone is shallow, and older commits are not in it: git fetch --unshallow\n');
    return EXIT.ok;
  });
}

async function managerHistory(
  manager: ManagerAddress,
  query: HistoryQuery,
  format: 'text' | 'json',
  io: CommandIo,
): Promise<ExitCode> {
  const { entries, hasMore, isComplete, until } = await readHistory(manager, query);
  if (entries.length === 0 && isComplete && query.key !== null) await requireKnown(manager, query.key);
  const json = {
    entries: entries.map((entry) => entry.json),
    complete: isComplete,
    indexed_until: until === null ? null : new Date(until).toISOString(),
  };
  const listed = entries.map(({ read }) => listedEntry(read));
  await write({ json, listed, query, hasMore, isCut: !isComplete }, format, io);
  if (!isComplete && !hasMore)
    io.writeError(
      `The manager has read ${until === null ? 'no older commits yet' : `only the commits since ${localTime(until)}`}: it still reads them, or its clone is shallow.\n`,
    );
  return EXIT.ok;
}

/** What a list has, for programs and for people. */
interface List {
  json: object;
  listed: readonly ListedEntry[];
  query: HistoryQuery;
  hasMore: boolean;
  /** Whether older commits are missing, so that nothing can be said of them. */
  isCut: boolean;
}

async function write(
  { json, listed, query: { key, since, limit }, hasMore, isCut }: List,
  format: 'text' | 'json',
  io: CommandIo,
): Promise<void> {
  if (format === 'json') io.write(`${escapeWorkflowCommands(JSON.stringify(json, null, 2))}\n`);
  else await io.page(listed.map((entry) => entryText(entry, painter(io.hasColors), io.columns)).join(''));
  if (listed.length === 0 && format === 'text')
    io.writeError(
      `${isCut ? 'Of the commits that are here, none' : 'Nothing'} changed ${key ?? 'the fleet'}${since === null ? '' : ` since ${localTime(since)}`}.\n`,
    );
  if (hasMore) io.writeError(`There are older ones: --limit ${limit * 2}, or --since 2w\n`);
}

function limitOf(text: string | undefined): number {
  const limit = text === undefined ? DEFAULT_LIMIT : Number(text);
  if (Number.isSafeInteger(limit) && limit > 0) return limit;
  throw new UsageError(`--limit must be a whole number above 0, not "${text}"`);
}

/** Rejects as `absent` if no commit ever changed what was asked for. */
async function requireAny(past: OpenPast, { key, since }: HistoryQuery): Promise<void> {
  const { folder, desired, revisions } = past;
  const present = [...desired.keys()];
  if (key === null ? present.length > 0 : present.includes(key)) return;
  const ever = since === null ? [] : (await readEntries(past, { key, since: null, limit: 1 })).entries;
  if (ever.length > 0) return;
  const error =
    key === null
      ? new HoldfastError(
          'absent',
          `no commit has files in ${folder}; name the fleet: --desired-state FOLDER`,
        )
      : neverWas(key, present, 'the history');
  throw withShallowHint(error, revisions);
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
  return { entry: commitEntry(commit, past.forge), changes: found.map(({ change }) => change) };
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

function listedCommit({ entry, changes }: HistoryEntry): ListedEntry {
  return {
    ...entry,
    mark: entry.revision,
    state: null,
    changes: changes.map(listedCommitChange),
    changesTotal: changes.length,
  };
}

/** Returns a change of a commit as people see it. */
export function listedCommitChange({ kind, name, change, fields, isInvalid }: ObjectChange): ListedChange {
  return {
    object: `${DESCRIPTORS[kind].noun} ${name}`,
    change,
    fields,
    note: isInvalid ? 'not valid' : '',
  };
}
