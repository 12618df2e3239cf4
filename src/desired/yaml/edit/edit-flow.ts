import type { Slot } from './diff.ts';
import { endWithComma, lastSlot, trailingComma } from './flow.ts';
import { addToFlow } from './flow-add.ts';
import { removeFromFlow } from './flow-remove.ts';
import type { CollectionPart } from './layout.ts';
import { columnOf, lineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { flowEntry, type NewEntry } from './render.ts';
import { collectionStyle, type TextStyle } from './text-style.ts';

/**
 * Adds and removes entries of a map or list in flow style. Each slot pairs an old entry with a new one. Keeps the line breaks
 * between entries.
 */
export function editFlow(patch: Patch, part: CollectionPart, slots: Slot[], style: TextStyle): void {
  const own = collectionStyle(patch.text, part, style);
  const becomesEmpty = slots.every(({ next }) => next === undefined);
  if (part.entries.length === 0) fill(patch, part, slots, own);
  else if (becomesEmpty && !hasOwnComments(patch.text, part)) patch.remove(part.start + 1, part.end - 1);
  else {
    setCommas(patch, part, slots);
    const comments = removeFromFlow(patch, part, slots);
    addToFlow(patch, part, slots, comments, own);
  }
}

/** Writes the first entries into an empty collection, below the comments in it. */
function fill(patch: Patch, { start, end }: CollectionPart, slots: Slot[], style: TextStyle): void {
  const { text, eol } = patch;
  const entries = slots.map(({ next }) => flowEntry(next as NewEntry, style));
  const close = end - 1;
  if (text.slice(start, close).includes('#')) {
    const pad = ' '.repeat(columnOf(text, close) + style.mapStep);
    patch.insert(lineStart(text, close), `${entries.map((entry) => pad + entry).join(`,${eol}`)}${eol}`);
  } else patch.replace(start + 1, close, entries.join(', '));
}

/** Whether a comment stands on a line of its own or behind the opening bracket, and so belongs to no single entry. */
function hasOwnComments(text: string, { start, entries, end }: CollectionPart): boolean {
  const opening = text.slice(start + 1, entries[0]?.start);
  const gaps = entries.map((entry, index) =>
    text.slice(endWithComma(entry), entries[index + 1]?.start ?? end),
  );
  return opening.includes('#') || gaps.some((gap) => /\n[ \t]*#/.test(gap));
}

/** Ensures a comma behind each entry that stays; behind the last entry only if the collection has a trailing comma. */
function setCommas(patch: Patch, part: CollectionPart, slots: Slot[]): void {
  const hasTrailing = trailingComma(patch.text, part) === ',';
  const last = lastSlot(slots);
  for (const slot of slots) {
    const { old, next } = slot;
    if (old === undefined || next === undefined) continue;
    const needsComma = hasTrailing || slot !== last;
    if (needsComma && old.comma === undefined) patch.insert(old.end, ',');
    if (!needsComma && old.comma !== undefined) patch.remove(old.comma, old.comma + 1);
  }
}
