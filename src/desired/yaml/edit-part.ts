import { isEmpty, isMapValue, sameValue } from '../values.ts';
import { listSlots, mapSlots, reuseFirst, type Slot } from './diff.ts';
import { editBlock, removeEntry } from './edit-block.ts';
import { editFlow } from './edit-flow.ts';
import { replaceValue } from './edit-value.ts';
import type { CollectionPart, Entry, Part } from './layout.ts';
import { joinLines, lineEnd, lineStart, startsLine } from './lines.ts';
import type { Pen } from './pen.ts';
import { entryLines, flowEntry, type Wanted } from './render.ts';
import type { Draft } from './splice.ts';
import { inStyle } from './strings.ts';

/**
 * Edits the top-level map of a file into `target`. With `coarse`, pairs that differ are written anew instead of
 * being edited from within.
 */
export function editTop(
  draft: Draft,
  top: CollectionPart,
  target: Readonly<Record<string, unknown>>,
  pen: Pen,
  coarse: boolean,
): void {
  if (isEmpty(target) && top.form === 'block') {
    emptyTop(draft, top);
    return;
  }
  const slots = slotsOf(draft.text, top, target);
  for (const { old, next } of slots) {
    if (old === undefined || next === undefined) continue;
    if (!coarse) editEntry(draft, top, old, next, pen);
    else if (!sameValue(old.value.value, next.value)) rewriteEntry(draft, top, old, next, pen);
  }
  changeEntries(draft, top, slots, pen);
}

function emptyTop(draft: Draft, top: CollectionPart): void {
  draft.insert(lineStart(draft.text, top.start), joinLines(['{}'], top.column, draft.eol));
  for (const entry of top.entries) removeEntry(draft, entry);
}

function slotsOf(text: string, part: CollectionPart, value: unknown): Slot[] {
  if (Array.isArray(value)) return listSlots(part, value);
  const slots = mapSlots(part, value as Record<string, unknown>);
  return part.form === 'block' && startsLine(text, part.start) ? slots : reuseFirst(slots);
}

/** Makes an entry hold `next` where it stands: the source of its key and value changes as little as possible. */
function editEntry(draft: Draft, parent: CollectionPart, old: Entry, next: Wanted, pen: Pen): void {
  const { key } = old;
  if (key !== undefined && next.key !== undefined && next.key !== key.value) {
    draft.replace(key.start, key.end, inStyle(next.key, key.style, pen.quote, parent.form !== 'block'));
  }
  const part = old.value;
  if (sameValue(part.value, next.value)) return;
  const slots = editableSlots(draft.text, part, next.value);
  if (slots === undefined || part.kind === 'scalar') {
    replaceValue(draft, { parent, holder: old }, next.value, pen);
    return;
  }
  for (const slot of slots) {
    if (slot.old !== undefined && slot.next !== undefined) editEntry(draft, part, slot.old, slot.next, pen);
  }
  changeEntries(draft, part, slots, pen, old);
}

/** The slots of a collection that can be edited from within; undefined when it must be replaced as a whole. */
function editableSlots(text: string, part: Part, value: unknown): Slot[] | undefined {
  const sameKind = part.kind === 'map' ? isMapValue(value) : part.kind === 'list' && Array.isArray(value);
  if (part.kind === 'scalar' || !sameKind) return undefined;
  if (part.form === 'block' && isEmpty(value)) return undefined;
  const slots = slotsOf(text, part, value);
  // A pair without braces can only stay one pair.
  const whole = part.form !== 'bare' || (slots.length === 1 && slots[0]?.next !== undefined);
  return whole ? slots : undefined;
}

function changeEntries(draft: Draft, part: CollectionPart, slots: Slot[], pen: Pen, holder?: Entry): void {
  if (slots.every(({ old, next }) => old !== undefined && next !== undefined)) return;
  if (part.form === 'block') editBlock(draft, part, slots, pen, holder);
  else editFlow(draft, part, slots, pen);
}

function rewriteEntry(
  draft: Draft,
  part: CollectionPart,
  { start, end }: Entry,
  next: Wanted,
  pen: Pen,
): void {
  const lines = part.form === 'block' ? entryLines(next, pen) : [flowEntry(next, pen)];
  const [first = '', ...rest] = lines;
  draft.replace(start, end, first);
  draft.insert(lineEnd(draft.text, end), joinLines(rest, part.column, draft.eol));
}
