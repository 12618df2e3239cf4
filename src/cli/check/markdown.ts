import { DESCRIPTORS } from '../../desired/kinds.ts';
import type { Problem } from '../../desired/problem.ts';
import { changedFields } from '../../plan/describe.ts';
import type { Effect } from '../../plan/effect.ts';
import { lostGroups } from '../../plan/notices.ts';
import { changeTypeOf, type Step } from '../../plan/step.ts';
import { isMapValue, sameValue } from '../../protocol/values.ts';
import { printable } from '../../text/printable.ts';
import { type CountedEffect, devicesText, type Findings } from '../shell/report.ts';

/** The most characters of a plan in Markdown: GitHub refuses comments of more than 65,536. */
const MAX_MARKDOWN = 60_000;
/** Room for the lines that say what is left out. */
const ROOM_FOR_NOTES = 400;
const MAX_VALUE = 200;
const MAX_GROUPS = 20;

/** A part of the comment, which is cut after a whole row. */
interface Section {
  heading: readonly string[];
  rows: readonly string[];
}

/**
 * Returns a plan as a comment for a pull request, of at most `MAX_MARKDOWN` characters: the totals, problems, deletes and
 * what devices will do, and then every other change. Its first line, the same for every plan of a folder, is how the comment
 * is found again. Texts of files are inert: they mention nobody, link nowhere and end no table.
 */
export function renderMarkdown(
  folder: string,
  { problems, steps, effects, moves, summary }: Findings,
): string {
  const head = [
    `<!-- holdfast plan: ${printable(folder).replace(/[<>]|--/g, '_')} -->`,
    `### ${summary}`,
    ...lostGroups(steps).map((text) => `\n**${text.replace(/group (\S+)/, 'group `$1`')}**`),
  ].join('\n');
  const deletes = steps.filter(({ after }) => after === null);
  const others = steps.filter(({ after }) => after !== null);
  const restarted = new Set(effects.map(({ app }) => app));
  const isActive = ({ kind, name }: Step): boolean => kind === 'app' && restarted.has(name);
  return cutToFit(head, [
    problemSection(problems),
    changeSection('Deletes', deletes),
    effectSection(effects),
    { heading: ['#### Devices that move', ''], rows: moves.map((move) => `- ${cell(move)}`) },
    changeSection('Changes', [...others.filter(isActive), ...others.filter((step) => !isActive(step))]),
  ]);
}

/** Joins head and sections; each section gets the rows for which the sections before it leave room. */
function cutToFit(head: string, sections: readonly Section[]): string {
  let text = `${head.slice(0, MAX_MARKDOWN / 2)}\n`;
  for (const { heading, rows } of sections) {
    if (rows.length === 0) continue;
    const begun = `${text}\n${heading.join('\n')}\n`;
    let size = begun.length;
    const shown = rows.filter((row) => {
      size += row.length + 1;
      return size <= MAX_MARKDOWN - ROOM_FOR_NOTES;
    });
    const left = rows.length - shown.length;
    text = shown.length === 0 ? text : `${begun}${shown.join('\n')}\n`;
    if (left > 0)
      text += `\n_${left} of ${rows.length} rows of "${heading[0]?.replaceAll('*', '')}" are left out._\n`;
  }
  return text;
}

function problemSection(problems: readonly Problem[]): Section {
  return {
    heading: ['**Problems**', ''],
    rows: problems.map(
      ({ severity, file, line, column, message }) =>
        `- ${severity}: ${code(`${file}:${line}:${column}`)}: ${code(message)}`,
    ),
  };
}

const URGENCY: readonly Effect['action'][] = ['stop', 'restart', 'start'];

function effectSection(effects: readonly CountedEffect[]): Section {
  const ordered = URGENCY.flatMap((action) => effects.filter((effect) => effect.action === action));
  return {
    heading: ['**What devices will do**', '', '| app | | on device groups |', '| --- | --- | --- |'],
    rows: ordered.map((effect) => {
      const { app, action, groups } = effect;
      const devices = devicesText(effect);
      const more = groups.length > MAX_GROUPS ? ` and ${groups.length - MAX_GROUPS} more` : '';
      return `| ${code(app)} | **${action}s** | ${groups.slice(0, MAX_GROUPS).map(code).join(', ')}${more}${devices === null ? '' : `: ${devices}`} |`;
    }),
  };
}

function changeSection(title: string, steps: readonly Step[]): Section {
  return {
    heading: [`**${title}**`, '', '| | object | field | before | after |', '| --- | --- | --- | --- | --- |'],
    rows: steps.flatMap(changeRows),
  };
}

const MARKS = { create: '+', update: '~', delete: '-' } as const;

/** The rows of one step: a row for each field of an update, and one for a whole object. */
function changeRows(step: Step): string[] {
  const { kind, name, before, after } = step;
  const row = (field: string, from: string, to: string): string =>
    `| ${MARKS[changeTypeOf(step)]} | ${DESCRIPTORS[kind].noun} ${code(name)} | ${field} | ${from} | ${to} |`;
  if (before === null || after === null) return [row('', essence(before), essence(after))];
  return changedFields(before, after)
    .flatMap((field) =>
      differences(field, (before as object)[field as never], (after as object)[field as never]),
    )
    .map(([field, from, to]) => row(code(field), cell(from), cell(to)));
}

/** What people know an object by: the image of an app, the apps of a group, the group of a device. */
function essence(content: Step['before']): string {
  if (content === null) return '';
  if ('container_image' in content) return cell(content.container_image);
  return 'apps' in content ? cell(content.apps) : cell(content.device_group ?? '');
}

/** Returns a field's values before and after; for a map, those of each key that differs. */
function differences(field: string, from: unknown, to: unknown): [string, unknown, unknown][] {
  if (!isMapValue(from) || !isMapValue(to)) return [[field, from, to]];
  const keys = [...new Set([...Object.keys(from), ...Object.keys(to)])];
  return keys
    .filter((key) => !sameValue(from[key], to[key]))
    .map((key) => [`${field}.${key}`, from[key], to[key]]);
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '';
  const isListOfTexts = Array.isArray(value) && value.every((item) => typeof item === 'string');
  const text = isListOfTexts ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value);
  return code(text);
}

/**
 * Returns the text as code. Backticks do for most texts; those that could end the code or the cell of a table, or that are
 * blank, have their punctuation as entities.
 */
function code(text: string): string {
  const cut = text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
  const shown = printable(cut);
  if (/^(?! )[^`|\\]+(?<! )$/.test(shown)) return `\`${shown}\``;
  const inert = shown.replace(/[^\p{L}\p{N} ]/gu, (character) => `&#${character.codePointAt(0)};`);
  return `<code>${inert}</code>`;
}
