import type { Slot } from './diff.ts';
import { lastComma, lastOf, tailOf } from './flow.ts';
import { addToFlow } from './flow-add.ts';
import { removeFromFlow } from './flow-remove.ts';
import type { CollectionPart } from './layout.ts';
import { columnOf, lineStart } from './lines.ts';
import type { Patch } from './patch.ts';
import { type Pen, penOf } from './pen.ts';
import { flowEntry, type NewEntry } from './render.ts';

/** Adds and removes entries of a flow collection as `slots` say, and keeps its distribution over lines. */
export function editFlow(patch: Patch, part: CollectionPart, slots: Slot[], pen: Pen): void {
  const own = penOf(patch.text, part, pen);
  const stays = slots.some(({ next }) => next !== undefined);
  if (part.entries.length === 0) fill(patch, part, slots, own);
  else if (!stays && !hasOwnComments(patch.text, part)) patch.remove(part.start + 1, part.end - 1);
  else {
    setCommas(patch, part, slots);
    const comments = removeFromFlow(patch, part, slots);
    addToFlow(patch, part, slots, comments, own);
  }
}

/** Writes the first entries into an empty collection, below the comments that stand in it. */
function fill(patch: Patch, { start, end }: CollectionPart, slots: Slot[], pen: Pen): void {
  const { text, eol } = patch;
  const entries = slots.map(({ next }) => flowEntry(next as NewEntry, pen));
  const close = end - 1;
  if (text.slice(start, close).includes('#')) {
    const pad = ' '.repeat(columnOf(text, close) + pen.mapStep);
    patch.insert(lineStart(text, close), `${entries.map((entry) => pad + entry).join(`,${eol}`)}${eol}`);
  } else patch.replace(start + 1, close, entries.join(', '));
}

/** Whether a comment is on a line of its own or behind the opening bracket, so that it is not about one entry. */
function hasOwnComments(text: string, { start, entries, end }: CollectionPart): boolean {
  const opening = text.slice(start + 1, entries[0]?.start);
  const gaps = entries.map((entry, index) => text.slice(tailOf(entry), entries[index + 1]?.start ?? end));
  return opening.includes('#') || gaps.some((gap) => /\n[ \t]*#/.test(gap));
}

/** Puts a comma behind each entry that stays; behind the last entry only if the collection had a trailing comma. */
function setCommas(patch: Patch, part: CollectionPart, slots: Slot[]): void {
  const trailing = lastComma(patch.text, part) === ',';
  const last = lastOf(slots);
  for (const slot of slots) {
    const { old, next } = slot;
    if (old === undefined || next === undefined) continue;
    const needsComma = trailing || slot !== last;
    if (needsComma && old.comma === undefined) patch.insert(old.end, ',');
    if (!needsComma && old.comma !== undefined) patch.remove(old.comma, old.comma + 1);
  }
}
