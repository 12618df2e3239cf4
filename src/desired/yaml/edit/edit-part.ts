import { type Fields, isEmptyCollection, isMapValue, sameValue } from '../../../protocol/values.ts';
import { listSlots, mapSlots, reuseFirst, type Slot } from './diff.ts';
import { editBlock, removeEntry } from './edit-block.ts';
import { editFlow } from './edit-flow.ts';
import { replaceValue } from './edit-value.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { isFirstOnLine, joinLines, lineStart, nextLineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { entryLines, flowEntry, type NewEntry } from './render.ts';
import { inStyle } from './strings.ts';
import type { TextStyle } from './text-style.ts';

/**
 * Edits the top-level map of a file so that it becomes `target`. With `coarse`, a field that differs is rewritten
 * as a whole; otherwise only the parts that differ are changed.
 */
export function editTop(
  patch: Patch,
  top: CollectionPart,
  target: Fields,
  style: TextStyle,
  coarse: boolean,
): void {
  if (isEmptyCollection(target) && top.form === 'block') {
    emptyTop(patch, top);
    return;
  }
  const slots = slotsOf(patch.text, top, target);
  for (const { old, next } of slots) {
    if (old === undefined || next === undefined) continue;
    if (!coarse) editEntry(patch, top, old, next, style);
    else if (!sameValue(old.value.value, next.value)) rewriteEntry(patch, top, old, next, style);
  }
  addAndRemoveEntries(patch, top, slots, style);
}

/** Replaces all entries with `{}`: without any, the file would hold null. */
function emptyTop(patch: Patch, top: CollectionPart): void {
  patch.insert(lineStart(patch.text, top.start), joinLines(['{}'], top.column, patch.eol));
  for (const entry of top.entries) removeEntry(patch, entry);
}

/** Pairs the entries of a collection with those of its new value. */
function slotsOf(text: string, part: CollectionPart, value: unknown): Slot[] {
  if (Array.isArray(value)) return listSlots(part, value);
  const slots = mapSlots(part, value as Fields);
  return part.form === 'block' && isFirstOnLine(text, part.start) ? slots : reuseFirst(slots);
}

/** Edits an entry in place so that it becomes `next`, and changes as little of its key and value as possible. */
function editEntry(patch: Patch, parent: CollectionPart, old: Entry, next: NewEntry, style: TextStyle): void {
  const { key } = old;
  if (key !== undefined && next.key !== undefined && next.key !== key.value) {
    patch.replace(key.start, key.end, inStyle(next.key, key.style, style.quote, parent.form !== 'block'));
  }
  const part = old.value;
  if (sameValue(part.value, next.value)) return;
  const slots = editableSlots(patch.text, part, next.value);
  if (slots === undefined || part.kind === 'scalar') {
    replaceValue(patch, { parent, holder: old }, next.value, style);
    return;
  }
  for (const slot of slots) {
    if (slot.old !== undefined && slot.next !== undefined) editEntry(patch, part, slot.old, slot.next, style);
  }
  addAndRemoveEntries(patch, part, slots, style, old);
}

/** The slots by which `part` can become `value` in place; undefined if it must be replaced as a whole. */
function editableSlots(text: string, part: Part, value: unknown): Slot[] | undefined {
  const sameKind = part.kind === 'map' ? isMapValue(value) : part.kind === 'list' && Array.isArray(value);
  if (part.kind === 'scalar' || !sameKind) return undefined;
  if (part.form === 'block' && isEmptyCollection(value)) return undefined;
  const slots = slotsOf(text, part, value);
  // A map without braces has exactly one pair.
  const fits = part.form !== 'bare' || (slots.length === 1 && slots[0]?.next !== undefined);
  return fits ? slots : undefined;
}

/** Adds and removes entries of a collection. Those that stay are edited already. */
function addAndRemoveEntries(
  patch: Patch,
  part: CollectionPart,
  slots: Slot[],
  style: TextStyle,
  holder?: Entry,
): void {
  if (slots.every(({ old, next }) => old !== undefined && next !== undefined)) return;
  if (part.form === 'block') editBlock(patch, part, slots, style, holder);
  else editFlow(patch, part, slots, style);
}

/** Writes an entry again, as if it were added. */
function rewriteEntry(
  patch: Patch,
  part: CollectionPart,
  { start, end }: Entry,
  next: NewEntry,
  style: TextStyle,
): void {
  const lines = part.form === 'block' ? entryLines(next, style) : [flowEntry(next, style)];
  const [first = '', ...rest] = lines;
  patch.replace(start, end, first);
  patch.insert(nextLineStart(patch.text, end), joinLines(rest, part.column, patch.eol));
}
