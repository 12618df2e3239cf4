import { changesOf } from '../history/changes.ts';
import type { FolderCommit } from '../history/commit.ts';
import { commitEntry } from '../history/entry.ts';
import { orderSteps } from '../plan/step.ts';
import { commitToUndo } from '../rollback/undo.ts';
import { parseCommand } from './arguments.ts';
import { managerToAsk } from './ask-manager.ts';
import { COMMANDS } from './commands.ts';
import { prefixSteps } from './fleet.ts';
import { entryJson, type HistoryEntry } from './history.ts';
import { changeText, countText, type EntryHead, headText, localTime } from './history-text.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import type { ManagerAddress } from './manager-client.ts';
import { headOf, listedChange, type ManagerDetail, readEntry, stepsOf } from './manager-history.ts';
import { commitOf, withPast, withShallowHint } from './past.ts';
import { findingsJson, painter, renderFindings } from './report.ts';

/** Runs `holdfast show`: one commit, or an entry of a manager's history: who made it and why, and what it changed. */
export async function show(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, format, options } = parseCommand<'text' | 'json'>(COMMANDS.show, args);
  if (operand === undefined) throw new UsageError('name a commit: holdfast show HEAD');
  const manager = managerToAsk(options, io);
  if (manager !== null) return showFromManager(manager, operand, format, io);
  return withPast(
    options['desired-state'] as string | undefined,
    io,
    async ({ folder, revisions, defaults }) => {
      const revision = await commitOf(operand, 'the revision', revisions);
      const commit = await commitToUndo(revisions, revision).catch((error: unknown) => {
        throw withShallowHint(error, revisions);
      });
      const found = await changesOf(commit.files, revisions.blob, defaults);
      const shown = { entry: commitEntry(commit, null), changes: found.map(({ change }) => change) };
      const steps = prefixSteps(folder, orderSteps(found.flatMap(({ step }) => step ?? [])));
      const unread = shown.changes.filter(({ isInvalid }) => isInvalid).length;
      const summary = countText(shown.changes.length, unread);
      const findings = { problems: [], steps, effects: [], summary };
      if (format === 'json')
        io.write(`${findingsJson(findings, { ...entryJson(shown), message: commit.message })}\n`);
      else {
        const head = headText(commitHead(commit, shown), painter(io.hasColors));
        io.write(`${head}\n${renderFindings(findings, 'text', io.hasColors)}`);
      }
      return EXIT.ok;
    },
  );
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

async function showFromManager(
  manager: ManagerAddress,
  name: string,
  format: 'text' | 'json',
  io: CommandIo,
): Promise<ExitCode> {
  const { json, read } = await readEntry(manager, name);
  const steps = stepsOf(read);
  const findings = { problems: [], steps, effects: [], summary: managerSummary(read) };
  if (format === 'json') {
    const { steps: _, ...rest } = json;
    io.write(`${findingsJson(findings, rest)}\n`);
    return EXIT.ok;
  }
  const paint = painter(io.hasColors);
  const isTold = steps.length === 0 || read.changes.some(({ ids }) => Object.keys(ids ?? {}).length > 0);
  const changes = isTold ? read.changes.map((change) => `${changeText(listedChange(change), paint)}\n`) : [];
  const gap = changes.length > 0 ? '\n' : '';
  const head = headText(headOf(read, localTime), paint);
  io.write(`${head}\n${changes.join('')}${gap}${renderFindings(findings, 'text', io.hasColors)}`);
  return EXIT.ok;
}

function managerSummary({ changes_total: objects, steps, steps_total: all, gone }: ManagerDetail): string {
  return [
    countText(objects),
    ...(gone ? ['git has lost this commit: its values are not known.'] : []),
    ...(steps.length < all ? [`These are the first ${steps.length} of ${all}.`] : []),
  ].join(' ');
}
