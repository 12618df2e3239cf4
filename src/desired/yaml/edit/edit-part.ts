import { type Fields, isEmpty, isMapValue, sameValue } from '../../values.ts';
import { listSlots, mapSlots, reuseFirst, type Slot } from './diff.ts';
import { editBlock, removeEntry } from './edit-block.ts';
import { editFlow } from './edit-flow.ts';
import { replaceValue } from './edit-value.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { joinLines, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Patch } from './patch.ts';
import type { Pen } from './pen.ts';
import { entryLines, flowEntry, type NewEntry } from './render.ts';
import { inStyle } from './strings.ts';

/**
 * Edits the top-level map of a file so that it becomes `target`. With `coarse`, a field that differs is rewritten
 * as a whole; otherwise only the parts of it that differ are changed.
 */
export function editTop(patch: Patch, top: CollectionPart, target: Fields, pen: Pen, coarse: boolean): void {
  if (isEmpty(target) && top.form === 'block') {
    emptyTop(patch, top);
    return;
  }
  const slots = slotsOf(patch.text, top, target);
  for (const { old, next } of slots) {
    if (old === undefined || next === undefined) continue;
    if (!coarse) editEntry(patch, top, old, next, pen);
    else if (!sameValue(old.value.value, next.value)) rewriteEntry(patch, top, old, next, pen);
  }
  changeEntries(patch, top, slots, pen);
}

/** Leaves `{}`: a file without any entry would hold null. */
function emptyTop(patch: Patch, top: CollectionPart): void {
  patch.insert(lineStart(patch.text, top.start), joinLines(['{}'], top.column, patch.eol));
  for (const entry of top.entries) removeEntry(patch, entry);
}

function slotsOf(text: string, part: CollectionPart, value: unknown): Slot[] {
  if (Array.isArray(value)) return listSlots(part, value);
  const slots = mapSlots(part, value as Fields);
  return part.form === 'block' && startsLine(text, part.start) ? slots : reuseFirst(slots);
}

/** Edits an entry in place so that it holds `next`, changing as little of its key and value as possible. */
function editEntry(patch: Patch, parent: CollectionPart, old: Entry, next: NewEntry, pen: Pen): void {
  const { key } = old;
  if (key !== undefined && next.key !== undefined && next.key !== key.value) {
    patch.replace(key.start, key.end, inStyle(next.key, key.style, pen.quote, parent.form !== 'block'));
  }
  const part = old.value;
  if (sameValue(part.value, next.value)) return;
  const slots = editableSlots(patch.text, part, next.value);
  if (slots === undefined || part.kind === 'scalar') {
    replaceValue(patch, { parent, holder: old }, next.value, pen);
    return;
  }
  for (const slot of slots) {
    if (slot.old !== undefined && slot.next !== undefined) editEntry(patch, part, slot.old, slot.next, pen);
  }
  changeEntries(patch, part, slots, pen, old);
}

/** The slots of a collection that can keep its form for `value`; undefined when it must be replaced as a whole. */
function editableSlots(text: string, part: Part, value: unknown): Slot[] | undefined {
  const sameKind = part.kind === 'map' ? isMapValue(value) : part.kind === 'list' && Array.isArray(value);
  if (part.kind === 'scalar' || !sameKind) return undefined;
  if (part.form === 'block' && isEmpty(value)) return undefined;
  const slots = slotsOf(text, part, value);
  // Without braces, there is room for exactly one pair.
  const fits = part.form !== 'bare' || (slots.length === 1 && slots[0]?.next !== undefined);
  return fits ? slots : undefined;
}

/** Adds and removes the entries of a collection whose other entries were edited already. */
function changeEntries(patch: Patch, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  if (slots.every(({ old, next }) => old !== undefined && next !== undefined)) return;
  if (part.form === 'block') editBlock(patch, part, slots, pen, holder);
  else editFlow(patch, part, slots, pen);
}

/** Rewrites the entry, whatever form it had. */
function rewriteEntry(
  patch: Patch,
  part: CollectionPart,
  { start, end }: Entry,
  next: NewEntry,
  pen: Pen,
): void {
  const lines = part.form === 'block' ? entryLines(next, pen) : [flowEntry(next, pen)];
  const [first = '', ...rest] = lines;
  patch.replace(start, end, first);
  patch.insert(lineEnd(patch.text, end), joinLines(rest, part.column, patch.eol));
}
