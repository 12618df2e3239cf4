import type { Actor } from '../../history/entry.ts';
import type { PullRequest } from '../../history/message.ts';
import type { ChangeType } from '../../plan/step.ts';
import { printable } from '../../text/printable.ts';
import type { Paint } from '../shell/report.ts';

/** An entry of the history as people see it in a list. Texts may contain anything. */
export interface ListedEntry {
  /** What `holdfast show` takes: the id of a commit, or a number. */
  mark: string;
  /** Unix milliseconds. */
  at: number;
  authors: readonly string[];
  subject: string;
  /** What became of it, if that is not what one expects: `refused`. */
  state: string | null;
  changes: readonly ListedChange[];
  /** How many changes there are, of which `changes` can be the first ones. */
  changesTotal: number;
}

/** What became of one object. */
export interface ListedChange {
  /** Such as `app web`. */
  object: string;
  change: ChangeType;
  fields: readonly string[];
  /** What else there is to know: the ids that it gave. */
  note: string;
}

/** An entry of the history as people see it by itself. Texts may contain anything. */
export interface EntryHead {
  /** Such as `commit 3f2a…`. */
  title: string;
  actor: Actor;
  authors: readonly string[];
  at: number;
  pullRequest: PullRequest | null;
  /** More rows, after the date: a label, and its text. */
  rows: readonly (readonly [label: string, text: string])[];
  message: string;
}

/** How many changes of one entry are listed. */
const MAX_CHANGES = 8;

const SIGNS: Readonly<Record<ChangeType, readonly [string, 'green' | 'yellow' | 'red']>> = {
  create: ['+', 'green'],
  update: ['~', 'yellow'],
  delete: ['-', 'red'],
};

/** Returns the lines of an entry in a list; on a terminal of so many columns, each fits if it can. */
export function entryText(entry: ListedEntry, paint: Paint, columns: number | null): string {
  const { mark, at, authors, subject, state, changes, changesTotal } = entry;
  const who = authors.length > 2 ? `${authors[0]} and ${authors.length - 1} others` : authors.join(', ');
  const room = columns === null ? null : columns - HEAD_WIDTH - who.length - (state?.length ?? -3) - 3;
  const what = `${paint('bold', cut(printable(subject), room))}${state === null ? '' : paint('red', ` (${printable(state)})`)}`;
  const head = `${paint('yellow', printable(mark).slice(0, 12).padEnd(12))}  ${paint('dim', localTime(at))}  ${what}  ${paint('dim', printable(who))}`;
  const lines = changes
    .slice(0, MAX_CHANGES)
    .map((change) => `    ${changeText(change, paint, columns === null ? null : columns - 4)}`);
  const more = changesTotal > lines.length ? [`    and ${changesTotal - lines.length} more`] : [];
  return `${[head, ...lines, ...more].join('\n')}\n`;
}

/** The characters of an entry's first line besides its subject, its state and its authors. */
const HEAD_WIDTH = 12 + 2 + 16 + 2 + 2;
/** However narrow the terminal is, so much of a text is left. */
const LEAST = 20;

/** Cuts a text to so many characters. */
function cut(text: string, room: number | null): string {
  const characters = [...text];
  const most = Math.max(room ?? characters.length, LEAST);
  return characters.length > most ? `${characters.slice(0, most - 1).join('')}…` : text;
}

/** Returns the line of a change, of at most so many characters if that is possible. */
export function changeText(
  { object, change, fields, note }: ListedChange,
  paint: Paint,
  columns: number | null = null,
): string {
  const [sign, color] = SIGNS[change];
  const what = printable(object);
  const end = note === '' ? '' : ` (${printable(note)})`;
  const room = columns === null ? null : columns - what.length - end.length - 4;
  const list = fields.length > 0 ? `: ${cut(printable(fields.join(', ')), room)}` : '';
  return `${paint(color, `${sign} ${what}`)}${list}${end}`;
}

/** Returns what `holdfast show` says of an entry before its changes. */
export function headText(
  { title, actor, authors, at, pullRequest, rows, message }: EntryHead,
  paint: Paint,
): string {
  const others = authors.filter((name) => name !== actor.name);
  const who = actor.via === 'api' ? `${actor.name} (through the API)` : withAddress(actor);
  const lines = [
    paint('yellow', printable(title)),
    `Author:  ${printable(who)}`,
    ...(others.length > 0 ? [`With:    ${printable(others.join(', '))}`] : []),
    `Date:    ${localTime(at)}`,
    ...rows.map(([label, text]) => `${(label === '' ? '' : `${label}:`).padEnd(8)} ${printable(text)}`),
    ...(pullRequest === null
      ? []
      : [
          `Pull request: #${pullRequest.number}${pullRequest.url === null ? '' : ` ${printable(pullRequest.url)}`}`,
        ]),
    '',
    ...message
      .trim()
      .split('\n')
      .map((line) => `    ${printable(line)}`.trimEnd()),
  ];
  return `${lines.join('\n')}\n`;
}

function withAddress({ name, email }: Actor): string {
  return email === null ? name : `${name} <${email}>`;
}

/** Returns the last line of `holdfast show`. */
export function countText(objects: number, unread = 0): string {
  if (objects === 0) return 'Nothing changed for devices.';
  const count = `${objects} object${objects === 1 ? '' : 's'} changed`;
  return unread === 0 ? `${count}.` : `${count}, ${unread} of them with a file that is not valid.`;
}

/** Returns a time in Unix milliseconds as people here write it: `2026-11-24 10:11`. */
export function localTime(at: number): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
