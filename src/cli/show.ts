import { changesOf } from '../history/changes.ts';
import type { FolderCommit } from '../history/commit.ts';
import { commitEntry } from '../history/entry.ts';
import { orderSteps } from '../plan/step.ts';
import { commitToUndo } from '../rollback/undo.ts';
import { printable } from '../text/printable.ts';
import { parseCommand } from './arguments.ts';
import { COMMANDS } from './commands.ts';
import { prefixSteps } from './fleet.ts';
import { entryJson, type HistoryEntry, localTime } from './history.ts';
import { type CommandIo, EXIT, type ExitCode, UsageError } from './io.ts';
import { commitOf, withPast, withShallowHint } from './past.ts';
import { findingsJson, type Paint, painter, renderFindings } from './report.ts';

/** Runs `holdfast show`: one commit, who made it and why, and what it changed. */
export async function show(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  const { operand, format, options } = parseCommand<'text' | 'json'>(COMMANDS.show, args);
  if (operand === undefined) throw new UsageError('name a commit: holdfast show HEAD');
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
      const findings = { problems: [], steps, effects: [], summary: summaryOf(shown) };
      if (format === 'json')
        io.write(`${findingsJson(findings, { ...entryJson(shown), message: commit.message })}\n`);
      else {
        const head = headOf(commit, shown, painter(io.hasColors));
        io.write(`${head}\n${renderFindings(findings, 'text', io.hasColors)}`);
      }
      return EXIT.ok;
    },
  );
}

function headOf({ revision, author, message }: FolderCommit, { entry }: HistoryEntry, paint: Paint): string {
  const { at, actor, authors, pullRequest } = entry;
  const others = authors.filter((name) => name !== actor.name);
  const who = author.name === actor.name ? `${author.name} <${author.email}>` : actor.name;
  const lines = [
    paint('yellow', `commit ${revision}`),
    `Author:  ${printable(who)}${actor.via === 'api' ? ' (through the API)' : ''}`,
    ...(others.length > 0 ? [`With:    ${printable(others.join(', '))}`] : []),
    `Date:    ${localTime(at)}`,
    ...(pullRequest === null
      ? []
      : [`Pull request: #${pullRequest.number}${pullRequest.url === null ? '' : ` ${pullRequest.url}`}`]),
    '',
    ...message
      .trim()
      .split('\n')
      .map((line) => `    ${printable(line)}`.trimEnd()),
  ];
  return `${lines.join('\n')}\n`;
}

function summaryOf({ changes }: HistoryEntry): string {
  if (changes.length === 0) return 'Nothing changed for devices.';
  const unread = changes.filter(({ isInvalid }) => isInvalid).length;
  const count = `${changes.length} object${changes.length === 1 ? '' : 's'} changed`;
  return unread === 0 ? `${count}.` : `${count}, ${unread} of them with a file that is not valid.`;
}
