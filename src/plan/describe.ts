import type { Content } from '../desired/content.ts';
import type { DeviceGroup } from '../desired/device-group.ts';
import type { Kind } from '../desired/name.ts';
import { isEmpty, isMapValue, sameValue } from '../desired/values.ts';
import { printable } from './printable.ts';
import type { Step } from './step.ts';

/** The name of each kind in sentences. */
export const KIND_NOUNS: Readonly<Record<Kind, string>> = { app: 'app', device_group: 'device group' };

const MAX_SUBJECT = 72;

/** One line of a described step: what is removed (`-`), what is added (`+`), or a heading of such lines. */
export interface PlanLine {
  mark: '+' | '-' | ' ';
  indent: number;
  text: string;
}

/** One sentence for a commit's subject or a log line: `app web: container_image 1.0 -> 1.1`. */
export function summarizeStep(step: Step): string {
  return subjectLine(step, summaries(step));
}

/**
 * One sentence about an object, short enough for a commit's subject: with the first of `texts` that fits, or with the
 * last one and a name that is cut.
 */
export function subjectLine({ kind, name }: Pick<Step, 'kind' | 'name'>, texts: readonly string[]): string {
  const noun = KIND_NOUNS[kind];
  const subjects = texts.map((text) => `${noun} ${name}: ${text}`);
  const last = texts[texts.length - 1] ?? '';
  const room = MAX_SUBJECT - `${noun} …: ${last}`.length;
  return (
    subjects.find((subject) => subject.length <= MAX_SUBJECT) ?? `${noun} ${name.slice(0, room)}…: ${last}`
  );
}

/** Texts that tell what a step does, from the fullest to the shortest. */
function summaries(step: Step): string[] {
  if (step.before === null) return ['create'];
  if (step.after === null) return ['delete'];
  if (step.kind === 'device_group') return [summarizeMembers(step.before, step.after), 'apps'];
  const { before, after } = step;
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

/** Names of the top-level fields in which two contents of one kind differ, in the order of the fields. */
export function changedFields(before: Content, after: Content): string[] {
  const fields = Object.keys(after) as (keyof Content)[];
  return fields.filter((field) => !sameValue(before[field], after[field]));
}

/** Without the values of lists and maps, which are long, and which in env_vars can be secrets. */
function summarizeField(field: string, before: unknown, after: unknown): string {
  if (field === 'container_image') return `${field} ${imageChange(String(before), String(after))}`;
  return typeof after === 'boolean' ? `${field} ${before} -> ${after}` : field;
}

/** Only the tags, if the rest of the reference stays the same. */
function imageChange(before: string, after: string): string {
  const [oldName, oldTag] = splitTag(before);
  const [newName, newTag] = splitTag(after);
  return oldName === newName && oldTag !== '' && newTag !== ''
    ? `${show(oldTag)} -> ${show(newTag)}`
    : `${show(before)} -> ${show(after)}`;
}

function splitTag(image: string): [string, string] {
  const tag = /:([^:/]+)$/.exec(image);
  return tag === null ? [image, ''] : [image.slice(0, tag.index), tag[1] ?? ''];
}

function summarizeMembers(before: DeviceGroup, after: DeviceGroup): string {
  const [old, now] = [new Set(before.apps), new Set(after.apps)];
  const added = after.apps.filter((app) => !old.has(app));
  const removed = before.apps.filter((app) => !now.has(app));
  const parts = [
    ...(added.length > 0 ? [`add ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`remove ${removed.join(', ')}`] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : 'reorder apps';
}

/** A step as a diff. Unchanged fields are left out; for a create or delete, also those that are empty. */
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
    const [a, b] = [before[key], after[key]];
    if (sameValue(a, b) || (isNothing(a) && isNothing(b))) return [];
    return diffField(key, a, b, indent);
  });
}

function diffField(key: string, before: unknown, after: unknown, indent: number): PlanLine[] {
  const heading: PlanLine = { mark: ' ', indent, text: `${key}:` };
  if (isList(before) && isList(after)) return [heading, ...diffLists(before, after, indent + 1)];
  if (isMapValue(before) && isMapValue(after)) return [heading, ...diffMaps(before, after, indent + 1)];
  return [...sideLines('-', key, before, indent), ...sideLines('+', key, after, indent)];
}

function diffLists(before: readonly unknown[], after: readonly unknown[], indent: number): PlanLine[] {
  const gone = before.filter((item) => !after.some((other) => sameValue(item, other)));
  const come = after.filter((item) => !before.some((other) => sameValue(item, other)));
  const other = new Set<unknown>([...gone, ...come]);
  const stay = (items: readonly unknown[]): unknown[] => items.filter((item) => !other.has(item));
  // What only has another place is shown in whole lists: a line for it alone would tell nothing.
  const reordered = !sameValue(stay(before), stay(after));
  const lines = (mark: '+' | '-', items: readonly unknown[]): PlanLine[] =>
    items.map((item) => ({ mark, indent, text: `- ${show(item)}` }));
  return reordered
    ? [...lines('-', before), ...lines('+', after)]
    : [...lines('-', gone), ...lines('+', come)];
}

function sideLines(mark: '+' | '-', key: string, value: unknown, indent: number): PlanLine[] {
  if (value === undefined) return [];
  if (isList(value)) {
    const items = value.map((item): PlanLine => ({ mark, indent: indent + 1, text: `- ${show(item)}` }));
    return [{ mark, indent, text: `${key}:` }, ...items];
  }
  if (isMapValue(value)) {
    const entries = Object.entries(value).map(
      ([name, item]): PlanLine => ({ mark, indent: indent + 1, text: `${name}: ${show(item)}` }),
    );
    return [{ mark, indent, text: `${key}:` }, ...entries];
  }
  return [{ mark, indent, text: `${key}: ${show(value)}` }];
}

/** Plain text stays plain; anything that could be misread, or move a terminal's cursor, is written as JSON. */
function show(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@%+=,-]+( [\w./:@%+=,-]+)*$/.test(value)
    ? value
    : printable(JSON.stringify(value));
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** Whether a value is as good as absent. */
function isNothing(value: unknown): boolean {
  return value === undefined || isEmpty(value);
}
