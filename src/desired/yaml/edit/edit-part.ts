import { type Fields, isEmptyCollection, sameValue } from '../../../protocol/values.ts';
import { listSlots, mapSlots, reuseFirst, type Slot } from './diff.ts';
import { editBlock, removeEntry } from './edit-block.ts';
import { flowAnew } from './edit-flow.ts';
import { replaceValue } from './edit-value.ts';
import { type CollectionPart, type Entry, isSameKind } from './layout.ts';
import { isFirstOnLine, joinLines, lineStart, nextLineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { entryLines, flowText, type NewEntry } from './render.ts';
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
  if (top.form !== 'block') {
    const text = coarse ? flowText(target, style) : flowAnew(patch, top, target, style);
    patch.replace(top.start, top.end, text);
    return;
  }
  if (isEmptyCollection(target)) {
    emptyTop(patch, top);
    return;
  }
  const slots = slotsOf(patch.text, top, target);
  for (const { old, next } of slots) {
    if (old === undefined || next === undefined) continue;
    if (!coarse) editEntry(patch, top, old, next, style);
    else if (!sameValue(old.value.value, next.value)) rewriteEntry(patch, top, old, next, style);
  }
  editBlock(patch, top, slots, style);
}

/** Replaces all entries with `{}`: without any, the file would hold null. */
function emptyTop(patch: Patch, top: CollectionPart): void {
  patch.insert(lineStart(patch.text, top.start), joinLines(['{}'], top.column, patch.eol));
  for (const entry of top.entries) removeEntry(patch, entry);
}

/** Pairs the entries of a block with those of its new value. */
function slotsOf(text: string, part: CollectionPart, value: object): Slot[] {
  if (Array.isArray(value)) return listSlots(part, value);
  const slots = mapSlots(part, value as Fields);
  return isFirstOnLine(text, part.start) ? slots : reuseFirst(slots);
}

/** Edits an entry in place so that it becomes `next`, and changes as little of its key and value as possible. */
function editEntry(patch: Patch, parent: CollectionPart, old: Entry, next: NewEntry, style: TextStyle): void {
  const { key } = old;
  if (key !== undefined && next.key !== undefined && next.key !== key.value) {
    patch.replace(key.start, key.end, inStyle(next.key, key.style, style.quote, false));
  }
  const part = old.value;
  if (sameValue(part.value, next.value)) return;
  if (!isSameKind(part, next.value) || (part.form === 'block' && isEmptyCollection(next.value))) {
    replaceValue(patch, { parent, holder: old }, next.value, style);
    return;
  }
  if (part.form !== 'block') {
    patch.replace(part.start, part.end, flowAnew(patch, part, next.value as object, style));
    return;
  }
  const slots = slotsOf(patch.text, part, next.value as object);
  for (const slot of slots) {
    if (slot.old !== undefined && slot.next !== undefined) editEntry(patch, part, slot.old, slot.next, style);
  }
  editBlock(patch, part, slots, style, old);
}

/** Writes an entry again, as if it were added. */
function rewriteEntry(
  patch: Patch,
  { column }: CollectionPart,
  { start, end }: Entry,
  next: NewEntry,
  style: TextStyle,
): void {
  const [first = '', ...rest] = entryLines(next, style);
  patch.replace(start, end, first);
  patch.insert(nextLineStart(patch.text, end), joinLines(rest, column, patch.eol));
}
