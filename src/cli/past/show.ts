import { join, normalize } from 'node:path';
import { loadEntries } from '../../desired/load.ts';
import { DesiredState } from '../../desired/state.ts';
import { changesOf, type ObjectChange } from '../../history/changes.ts';
import type { FolderCommit } from '../../history/commit.ts';
import { commitEntry } from '../../history/entry.ts';
import { readFileDiff } from '../../history/file-diff.ts';
import { AppliedState } from '../../plan/applied.ts';
import { type Effect, effectsOf } from '../../plan/effect.ts';
import { makePlan } from '../../plan/plan.ts';
import { orderSteps } from '../../plan/step.ts';
import { stateAt } from '../../preview/state-at.ts';
import { keyOf } from '../../protocol/name.ts';
import type { FileDiff } from '../../protocol/plan.ts';
import { commitToUndo } from '../../rollback/undo.ts';
import { prefixSteps } from '../check/fleet.ts';
import { managerToAsk } from '../manager/ask.ts';
import type { ManagerAddress } from '../manager/client.ts';
import { parseCommand } from '../shell/arguments.ts';
import { COMMANDS } from '../shell/commands.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from '../shell/io.ts';
import { findingsJson, painter } from '../shell/report.ts';
import { entryJson, type HistoryEntry, listedCommitChange } from './history.ts';
import { countText, type EntryHead, localTime } from './history-text.ts';
import { headOf, listedChange, type ManagerDetail, readEntry, stepsOf } from './manager-history.ts';
import { commitOf, type OpenPast, withPast, withShallowHint } from './past.ts';
import { type ShownChange, type ShownEntry, shownText } from './show-text.ts';

/** Runs `holdfast show`: one commit, or an entry of a manager's history: who made it and why, and what it changed. */
export async function show(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, format, options } = parseCommand<'text' | 'json'>(COMMANDS.show, args);
  if (operand === undefined) throw new UsageError('name a commit: holdfast show HEAD');
  const manager = managerToAsk(options, io);
  const { shown, json } =
    manager === null
      ? await withPast(options['desired-state'] as string | undefined, io, (past) => fromGit(past, operand))
      : await fromManager(manager, operand);
  const { steps, effects } = shown;
  if (format === 'json')
    io.write(`${findingsJson({ problems: [], steps, effects, moves: [], summary: '' }, json)}\n`);
  else await io.page(shownText(shown, painter(io.hasColors)));
  return EXIT.ok;
}

/** An entry for people, and what its JSON has besides steps and effects. */
interface Shown {
  shown: ShownEntry;
  json: Readonly<Record<string, unknown>>;
}

async function fromGit(past: OpenPast, name: string): Promise<Shown> {
  const { folder, revisions, defaults, forge } = past;
  const revision = await commitOf(name, 'the revision', revisions);
  const commit = await commitToUndo(revisions, revision).catch((error: unknown) => {
    throw withShallowHint(error, revisions);
  });
  const found = await changesOf(commit.files, revisions.blob, defaults);
  const entry = { entry: commitEntry(commit, forge), changes: found.map(({ change }) => change) };
  const unread = entry.changes.filter(({ isInvalid }) => isInvalid).length;
  const files = await filesOf(commit, past);
  const shown: ShownEntry = {
    head: commitHead(commit, entry),
    steps: prefixSteps(folder, orderSteps(found.flatMap(({ step }) => step ?? []))),
    changes: entry.changes.map((change) => shownChange(change, folder)),
    files,
    effects: await effectsAt(commit, past),
    summary: countText(entry.changes.length, unread),
  };
  return { shown, json: { ...entryJson(entry), message: commit.message, files } };
}

function shownChange(change: ObjectChange, folder: string): ShownChange {
  const { kind, name, before, after } = change;
  const hasMoved = before !== null && after !== null && before.path !== after.path;
  return {
    ...listedCommitChange(change),
    key: keyOf(kind, name),
    path: shownPath(folder, (after ?? before)?.path),
    movedFrom: shownPath(folder, hasMoved ? before.path : undefined),
  };
}

/** Returns the path of a file as `filesOf` shows it. */
function shownPath(folder: string, path: string | undefined): string | null {
  return path === undefined ? null : normalize(join(folder, path));
}

async function filesOf({ files }: FolderCommit, { folder, revisions }: OpenPast): Promise<FileDiff[]> {
  const diffs: FileDiff[] = [];
  for (const delta of files)
    diffs.push(await readFileDiff(normalize(join(folder, delta.path)), delta, revisions.blob));
  return diffs;
}

/** Resolves to what the devices of a manager that applied each commit did with this one. */
async function effectsAt({ revision, parents }: FolderCommit, past: OpenPast): Promise<Effect[]> {
  const { revisions, defaults } = past;
  const [parent] = parents;
  const before = parent === undefined ? null : await stateAt(revisions, parent, defaults);
  const applied = before?.applied ?? new AppliedState();
  const entries = (await revisions.entriesAt(revision)) ?? [];
  const desired = await loadEntries(new DesiredState(), entries, revisions.blob, defaults);
  const { steps } = makePlan(new Set([...desired.keys(), ...applied.keys()]), desired, applied);
  return effectsOf(steps, applied);
}

function commitHead({ author, message }: FolderCommit, { entry }: HistoryEntry): EntryHead {
  const { revision, at, actor, authors, pullRequest } = entry;
  // The name of an API user is in a trailer; the author's is its display name.
  const email = author.name === actor.name ? author.email : null;
  return {
    title: `commit ${revision}`,
    actor: { ...actor, email },
    authors,
    at,
    pullRequest,
    rows: [],
    message,
  };
}

async function fromManager(manager: ManagerAddress, name: string): Promise<Shown> {
  const { json, read } = await readEntry(manager, name);
  const { steps: _, ...rest } = json;
  const changes = read.changes.map(
    (change): ShownChange => ({
      ...listedChange(change),
      note: '',
      key: change.object,
      path: change.path,
      movedFrom: change.moved_from,
    }),
  );
  const { files, effects } = read;
  const steps = orderSteps(stepsOf(read));
  const head = headOf(read, localTime);
  return { shown: { head, steps, changes, files, effects, summary: managerSummary(read) }, json: rest };
}

function managerSummary({ changes_total: objects, steps, steps_total: all, gone }: ManagerDetail): string {
  return [
    countText(objects),
    ...(gone ? ['git has lost this commit: its values are not known.'] : []),
    ...(steps.length < all ? [`These are the first ${steps.length} of ${all}.`] : []),
  ].join(' ');
}
