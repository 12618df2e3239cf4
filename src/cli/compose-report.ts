import { dirname, join, normalize } from 'node:path';
import type { ComposeImport } from '../compose/import.ts';
import { isAboutUnset } from '../compose/interpolate.ts';
import type { Note } from '../compose/notes.ts';
import { alignedRows } from '../text/aligned-rows.ts';
import { escapeWorkflowCommands, printable } from '../text/printable.ts';
import { describeFleet } from './fleet.ts';
import { annotation, type Format, type Paint, painter, problemLine, type Shown } from './report.ts';

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
export function renderImport(result: ComposeImport, view: ImportView): string {
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
      ? [
          errors.map((note) => problemLine(shown(note, view), paint)).join('\n'),
          ...sectionOf(result.notes.filter(isAboutUnset), 'Variables that are set nowhere', view, paint),
        ]
      : [
          ...notesText(result, view, paint),
          ...(view.isDryRun ? [] : [writtenText(result, view.folder, paint)]),
        ]),
    summaryOf(result, errors.length, view),
    ...(errors.length > 0 || view.isDryRun ? [] : [nextSteps(result.group, view.folder, paint)]),
  ];
  return `${annotations.join('')}${sections.join('\n\n')}\n`;
}

/** A note as a problem, with the path of its file from the current directory. */
function shown({ file, line, column, code, service, key, message }: Note, view: ImportView): Shown {
  const subject = service === null ? key : `${service}.${key}`;
  return {
    file: pathOf(file, view),
    line,
    column,
    severity: code === 'error' ? 'error' : 'warning',
    code: code === 'error' ? 'compose' : code,
    message: `${subject} ${message}`,
  };
}

function pathOf(file: string, view: ImportView): string {
  return normalize(join(dirname(view.file), file));
}

function jsonOf({ notes, files, group, variables, fileVariables }: ComposeImport, view: ImportView): object {
  return {
    problems: notes.map((note) => shown(note, view)),
    group,
    files: files.map(({ path, text }) => ({ path: join(view.folder, path), text })),
    written: files.length > 0 && !view.isDryRun,
    variables: [
      ...variables.map(({ name, foundIn: origin }) => ({ name, origin })),
      ...fileVariables.map(({ name, foundIn: origin, service }) => ({ name, origin, app: service })),
    ],
  };
}

function fileText(path: string, text: string, paint: Paint): string {
  return `${paint('bold', `# ${path}`)}\n${text.trimEnd()}`;
}

function notesText(result: ComposeImport, view: ImportView, paint: Paint): string[] {
  const notesOf = (wanted: Note['code']): Note[] => result.notes.filter(({ code }) => code === wanted);
  return [
    ...sectionOf(notesOf('left-out'), 'Left out', view, paint),
    ...sectionOf(notesOf('check'), 'To check', view, paint),
    ...variablesText(result, view, paint),
  ];
}

function sectionOf(notes: readonly Note[], title: string, view: ImportView, paint: Paint): string[] {
  return notes.length === 0 ? [] : [[paint('bold', title), ...groupedNotes(notes, view, paint)].join('\n')];
}

/** The lines of notes: one that several services share is shown once, with all its places. */
function groupedNotes(notes: readonly Note[], view: ImportView, paint: Paint): string[] {
  const groups = new Map<string, { text: string; places: string[] }>();
  for (const { key, message, service, file, line } of notes) {
    const text = `${key} ${message}`;
    const group = groups.get(text) ?? { text, places: [] };
    group.places.push(`${pathOf(file, view)}:${line}${service === null ? '' : ` ${service}`}`);
    groups.set(text, group);
  }
  return [...groups.values()].flatMap(({ text, places }) => [
    ...wrapped(printable(text), '  '),
    ...wrapped(printable(places.join(', ')), '      ').map((line) => paint('dim', line)),
  ]);
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

function variablesText(
  { variables, fileVariables }: ComposeImport,
  view: ImportView,
  paint: Paint,
): string[] {
  if (variables.length + fileVariables.length === 0) return [];
  const services = new Map<string, string[]>();
  for (const { name, foundIn, service } of fileVariables) {
    const variable = `${name}\n${placeOf(foundIn, view)}`;
    services.set(variable, [...(services.get(variable) ?? []), service]);
  }
  const title = 'In the files as plain text, for everybody who can read the repository';
  const rows = [
    ...variables.map(({ name, foundIn, lines }) => [
      name,
      placeOf(foundIn, view),
      `line ${lines.join(', ')}`,
    ]),
    ...Array.from(services, ([variable, names]) => [...variable.split('\n'), names.join(', ')]),
  ];
  return [[paint('bold', title), ...alignedRows(rows).map((row) => `  ${printable(row)}`)].join('\n')];
}

/** A file gets the path by which it can be opened from the current directory. */
function placeOf(foundIn: string, view: ImportView): string {
  return /:\d+$/.test(foundIn) ? pathOf(foundIn, view) : foundIn;
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
  return `${folder}: ${describeFleet(files.length - 1, 1)} of ${file} ${written}, ${left} left out, ${check} to check`;
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
