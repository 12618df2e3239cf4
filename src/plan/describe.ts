import type { Content } from '../desired/content.ts';
import { DESCRIPTORS } from '../desired/kinds.ts';
import { canBePlain } from '../desired/yaml/edit/strings.ts';
import type { DeviceGroup } from '../protocol/device-group.ts';
import { isEmptyCollection, isMapValue, sameValue } from '../protocol/values.ts';
import { printable } from '../text/printable.ts';
import type { Step } from './step.ts';

const MAX_SUBJECT = 72;

/** One line of a diff: a removed line (`-`), an added line (`+`), or a heading above such lines (a space). */
export interface PlanLine {
  sign: '+' | '-' | ' ';
  /** Levels, from 1. */
  indent: number;
  text: string;
}

/** Returns one sentence for a commit's subject or a log line: `app web: container_image 1.0 -> 1.1`. */
export function summarizeStep(step: Step): string {
  return subjectLine(step, summaries(step));
}

/** Returns one line for the sentences of several steps: all of them if they fit, otherwise how many there are. */
export function summarizeTogether(sentences: readonly string[]): string {
  const all = sentences.join('; ');
  return sentences.length === 1 || all.length <= MAX_SUBJECT ? all : `change ${sentences.length} objects`;
}

/**
 * Returns a sentence about an object, such as `app web: delete`, of at most 72 characters. It ends with the first of
 * `texts` that fits; if none fits, with the last one after a shortened name.
 */
export function subjectLine({ kind, name }: Pick<Step, 'kind' | 'name'>, texts: readonly string[]): string {
  const noun = DESCRIPTORS[kind].noun;
  const subjects = texts.map((text) => `${noun} ${name}: ${text}`);
  const last = texts[texts.length - 1] ?? '';
  const room = MAX_SUBJECT - `${noun} …: ${last}`.length;
  return (
    subjects.find((subject) => subject.length <= MAX_SUBJECT) ?? `${noun} ${name.slice(0, room)}…: ${last}`
  );
}

/** Returns descriptions of a step, from the most detailed to the shortest. */
function summaries(step: Step): string[] {
  if (step.before === null) return ['create'];
  if (step.after === null) return ['delete'];
  if (step.kind === 'device_group') return [summarizeMembers(step.before, step.after), 'apps'];
  const before: Content = step.before;
  const after: Content = step.after;
  const fields = changedFields(before, after);
  const long = fields.map((field) =>
    summarizeField(field, before[field as keyof Content], after[field as keyof Content]),
  );
  return [
    long.join(', '),
    ...(fields.length > 3 ? [] : [fields.join(', ')]),
    ...(fields.length > 1 ? [`${fields.length} fields`] : []),
  ];
}

/** Returns the names of the top-level fields in which two contents of one kind differ, in the order of `after`. */
export function changedFields(before: Content, after: Content): string[] {
  const fields = [...new Set([...Object.keys(after), ...Object.keys(before)])] as (keyof Content)[];
  return fields.filter((field) => !sameValue(before[field], after[field]));
}

/** Leaves out the values of lists and maps: they are long, and those of `env_vars` can be secrets. */
function summarizeField(field: string, before: unknown, after: unknown): string {
  if (field === 'container_image') return `${field} ${imageChange(String(before), String(after))}`;
  if (field === 'device_group') return `${field} ${before ?? 'none'} -> ${after ?? 'none'}`;
  return typeof after === 'boolean' ? `${field} ${before} -> ${after}` : field;
}

/** Shows only the tags if the rest of the image reference is unchanged. */
function imageChange(before: string, after: string): string {
  const [oldName, oldTag] = splitTag(before);
  const [newName, newTag] = splitTag(after);
  return oldName === newName && oldTag !== '' && newTag !== ''
    ? `${formatValue(oldTag)} -> ${formatValue(newTag)}`
    : `${formatValue(before)} -> ${formatValue(after)}`;
}

function splitTag(image: string): [string, string] {
  const tag = /:([^:/]+)$/.exec(image);
  return tag === null ? [image, ''] : [image.slice(0, tag.index), tag[1] ?? ''];
}

function summarizeMembers(before: DeviceGroup, after: DeviceGroup): string {
  const [oldApps, newApps] = [new Set(before.apps), new Set(after.apps)];
  const added = after.apps.filter((app) => !oldApps.has(app));
  const removed = before.apps.filter((app) => !newApps.has(app));
  const parts = [
    ...(added.length > 0 ? [`add ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`remove ${removed.join(', ')}`] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : 'reorder apps';
}

/** Returns a step as a diff. Unchanged fields are left out; for a create or delete, empty fields too. */
export function describeStep(step: Step): PlanLine[] {
  const before = (step.before ?? {}) as Record<string, unknown>;
  const after = (step.after ?? {}) as Record<string, unknown>;
  return diffMaps(before, after, 1);
}

function diffMaps(
  before: Record<string, unknown>,
  after: Record<string, unknown>,
  indent: number,
): PlanLine[] {
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => {
    const [oldValue, newValue] = [before[key], after[key]];
    if (sameValue(oldValue, newValue)) return [];
    if (isAbsentOrEmpty(oldValue) && isAbsentOrEmpty(newValue)) return [];
    return diffField(key, oldValue, newValue, indent);
  });
}

function diffField(key: string, before: unknown, after: unknown, indent: number): PlanLine[] {
  const heading: PlanLine = { sign: ' ', indent, text: `${key}:` };
  if (isList(before) && isList(after)) return [heading, ...diffLists(before, after, indent + 1)];
  if (isMapValue(before) && isMapValue(after)) return [heading, ...diffMaps(before, after, indent + 1)];
  return [...fieldLines('-', key, before, indent), ...fieldLines('+', key, after, indent)];
}

function diffLists(before: readonly unknown[], after: readonly unknown[], indent: number): PlanLine[] {
  const removed = before.filter((item) => !after.some((other) => sameValue(item, other)));
  const added = after.filter((item) => !before.some((other) => sameValue(item, other)));
  const changed = new Set<unknown>([...removed, ...added]);
  const kept = (items: readonly unknown[]): unknown[] => items.filter((item) => !changed.has(item));
  const isReordered = !sameValue(kept(before), kept(after));
  const lines = (sign: '+' | '-', items: readonly unknown[]): PlanLine[] =>
    items.map((item) => ({ sign, indent, text: `- ${yamlValue(item)}` }));
  // Items that only moved have no line of their own, so a new order is shown as two whole lists.
  return isReordered
    ? [...lines('-', before), ...lines('+', after)]
    : [...lines('-', removed), ...lines('+', added)];
}

function fieldLines(sign: '+' | '-', key: string, value: unknown, indent: number): PlanLine[] {
  if (value === undefined) return [];
  if (isList(value)) {
    const items = value.map((item): PlanLine => ({ sign, indent: indent + 1, text: `- ${yamlValue(item)}` }));
    return [{ sign, indent, text: `${key}:` }, ...items];
  }
  if (isMapValue(value)) {
    const entries = Object.entries(value).map(
      ([name, item]): PlanLine => ({ sign, indent: indent + 1, text: `${name}: ${yamlValue(item)}` }),
    );
    return [{ sign, indent, text: `${key}:` }, ...entries];
  }
  return [{ sign, indent, text: `${key}: ${yamlValue(value)}` }];
}

/** Returns a value as a file has it: a string in quotes where YAML would otherwise read a number, for example. */
function yamlValue(value: unknown): string {
  const isPlain = typeof value !== 'string' || canBePlain(value, false);
  return isPlain ? formatValue(value) : printable(JSON.stringify(value));
}

/** Returns plain text unchanged, and anything that could be misread or could control a terminal as JSON. */
function formatValue(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@%+=,-]+( [\w./:@%+=,-]+)*$/.test(value)
    ? value
    : printable(JSON.stringify(value));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

function isAbsentOrEmpty(value: unknown): boolean {
  return value === undefined || isEmptyCollection(value);
}
