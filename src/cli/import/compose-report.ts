import { join } from 'node:path';
import type { ComposeImport } from '../../compose/import.ts';
import type { Note } from '../../compose/notes.ts';
import type { OutsideVariable } from '../../compose/variables.ts';
import { keyOf } from '../../protocol/name.ts';
import { alignedRows } from '../../text/aligned-rows.ts';
import { escapeWorkflowCommands, printable } from '../../text/printable.ts';
import { describeObjects } from '../check/fleet.ts';
import { annotation, type Format, type Paint, painter, type Shown } from '../shell/report.ts';

/** What an import has made, with the variables that came from outside the Compose file; null if that cannot be told. */
interface ImportResult extends ComposeImport {
  variables: OutsideVariable[] | null;
}

/** How an import from a Compose file is shown. */
interface ImportView {
  /** The Compose file as the user named it. */
  file: string;
  /** The folder of the desired state. */
  folder: string;
  isDryRun: boolean;
  format: Format;
  hasColors: boolean;
}

/** Renders what became of a Compose file, as text, JSON, or text with the annotations of a GitHub workflow. */
export function renderImport(result: ImportResult, view: ImportView): string {
  const { format, hasColors } = view;
  if (format === 'json') return `${escapeWorkflowCommands(JSON.stringify(jsonOf(result, view), null, 2))}\n`;
  const annotations = format === 'github' ? result.notes.map((note) => annotation(shown(note, view))) : [];
  const paint = painter(hasColors && format === 'text');
  const errors = result.notes.filter(({ code }) => code === 'error');
  const sections = [
    ...(view.isDryRun
      ? result.files.map(({ path, text }) => fileText(join(view.folder, path), text, paint))
      : []),
    // What is left out matters once there is something to be left out of.
    ...(errors.length > 0
      ? [errors.map((note) => errorLine(note, view, paint)).join('\n')]
      : [...notesText(result, paint), ...(view.isDryRun ? [] : [writtenText(result, view.folder, paint)])]),
    summaryOf(result, errors.length, view),
    ...(errors.length > 0 || view.isDryRun ? [] : [nextSteps(result.group, view.folder, paint)]),
  ];
  return `${annotations.join('')}${sections.join('\n\n')}\n`;
}

/** A note as a problem of the file. Compose's output has no places, so each is at the beginning. */
function shown({ code, service, key, message }: Note, { file }: ImportView): Shown {
  return {
    file,
    line: 1,
    column: 1,
    severity: code === 'error' ? 'error' : 'warning',
    code: code === 'error' ? 'compose' : code,
    message: `${service === null ? key : `${service}.${key}`} ${message}`,
  };
}

function errorLine(note: Note, view: ImportView, paint: Paint): string {
  const { file, message } = shown(note, view);
  return `${paint('bold', printable(file))}: ${paint('red', 'error')}: ${printable(message)}`;
}

function jsonOf({ notes, files, group, variables }: ImportResult, view: ImportView): object {
  return {
    problems: notes.map((note) => shown(note, view)),
    group,
    files: files.map(({ path, text }) => ({ path: join(view.folder, path), text })),
    written: files.length > 0 && !view.isDryRun,
    variables,
  };
}

function fileText(path: string, text: string, paint: Paint): string {
  return `${paint('bold', `# ${path}`)}\n${text.trimEnd()}`;
}

function notesText(result: ImportResult, paint: Paint): string[] {
  const notesOf = (wanted: Note['code']): Note[] => result.notes.filter(({ code }) => code === wanted);
  return [
    ...sectionOf(notesOf('left-out'), 'Left out', paint),
    ...sectionOf(notesOf('check'), 'To check', paint),
    ...variablesText(result, paint),
  ];
}

function sectionOf(notes: readonly Note[], title: string, paint: Paint): string[] {
  return notes.length === 0 ? [] : [[paint('bold', title), ...groupedNotes(notes, paint)].join('\n')];
}

/** The lines of notes: one that several services share is shown once, with all of them. */
function groupedNotes(notes: readonly Note[], paint: Paint): string[] {
  const groups = new Map<string, string[]>();
  for (const { key, message, service } of notes) {
    const text = `${key} ${message}`;
    groups.set(text, [...(groups.get(text) ?? []), ...(service === null ? [] : [service])]);
  }
  return Array.from(groups, ([text, services]) => [
    ...wrapped(printable(text), '  '),
    ...wrapped(printable(services.join(', ')), '      ').map((line) => paint('dim', line)),
  ]).flat();
}

const WIDTH = 100;

/** Breaks a text into lines of at most `WIDTH` characters, if its words allow it; further lines are indented more. */
function wrapped(text: string, indent: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= WIDTH)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${lines.length === 0 ? '' : '  '}${word}`);
  }
  return lines;
}

const PLAIN_TEXT = 'In the files as plain text, for anyone who can read the repository';
const UNKNOWN_VARIABLES =
  'what .env, env_file and the environment gave (only an import by Docker Compose itself can name it)';

function variablesText({ variables }: ImportResult, paint: Paint): string[] {
  if (variables?.length === 0) return [];
  const rows = variables?.map(({ name, services }) => [name, services.join(', ')]);
  const lines = rows === undefined ? [UNKNOWN_VARIABLES] : alignedRows(rows);
  return [[paint('bold', PLAIN_TEXT), ...lines.map((row) => `  ${printable(row)}`)].join('\n')];
}

function summaryOf(
  { files, notes }: ComposeImport,
  errors: number,
  { file, folder, isDryRun }: ImportView,
): string {
  if (errors > 0)
    return `${folder}: nothing was written; correct ${errors === 1 ? 'the error' : `the ${errors} errors`} and import again`;
  const [left, check] = (['left-out', 'check'] as const).map(
    (wanted) => notes.filter(({ code }) => code === wanted).length,
  );
  const written = isDryRun ? 'would be written' : 'written';
  return `${folder}: ${describeObjects(files.map(({ kind, name }) => keyOf(kind, name)))} of ${file} ${written}, ${left} left out, ${check} to check`;
}

/** The names of the files that were written. */
function writtenText({ files }: ComposeImport, folder: string, paint: Paint): string {
  const paths = files.map(({ path }) => join(folder, path)).join(', ');
  return [paint('bold', 'Written'), ...wrapped(paths, '  ')].join('\n');
}

function nextSteps(group: string, folder: string, paint: Paint): string {
  const rows = alignedRows([
    [`holdfast validate ${folder}`, 'ports that are taken twice, and variables that stayed'],
    [`holdfast plan ${folder}`, 'what devices will do'],
    [`git add ${folder} && git commit`, `then devices with DEVICE_GROUP=${group} run it`],
  ]);
  return [paint('bold', 'Next'), ...rows.map((row) => `  ${row}`)].join('\n');
}
