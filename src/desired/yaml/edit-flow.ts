import type { Slot } from './diff.ts';
import { lastComma, lastOf, tailOf } from './flow.ts';
import { addToFlow } from './flow-add.ts';
import { removeFromFlow } from './flow-remove.ts';
import type { CollectionPart } from './layout.ts';
import { columnOf, lineStart } from './lines.ts';
import { type Pen, penOf } from './pen.ts';
import { flowEntry, type Wanted } from './render.ts';
import type { Draft } from './splice.ts';

/** Adds and removes the entries of a flow collection that `slots` say; its layout over several lines is kept. */
export function editFlow(draft: Draft, part: CollectionPart, slots: Slot[], pen: Pen): void {
  const own = penOf(draft.text, part, pen);
  const stays = slots.some(({ next }) => next !== undefined);
  if (part.entries.length === 0) fill(draft, part, slots, own);
  else if (!stays && !hasOwnComments(draft.text, part)) draft.remove(part.start + 1, part.end - 1);
  else {
    setCommas(draft, part, slots);
    removeFromFlow(draft, part, slots);
    addToFlow(draft, part, slots, own);
  }
}

/** Gives an empty collection its first entries, below the comments in it. */
function fill(draft: Draft, { start, end }: CollectionPart, slots: Slot[], pen: Pen): void {
  const { text, eol } = draft;
  const entries = slots.map(({ next }) => flowEntry(next as Wanted, pen));
  const close = end - 1;
  if (text.slice(start, close).includes('#')) {
    const pad = ' '.repeat(columnOf(text, close) + pen.mapStep);
    draft.insert(lineStart(text, close), `${entries.map((entry) => pad + entry).join(`,${eol}`)}${eol}`);
  } else draft.replace(start + 1, close, entries.join(', '));
}

/** Whether comments stand between the entries which speak of more than the entry beside them. */
function hasOwnComments(text: string, { start, entries, end }: CollectionPart): boolean {
  const opening = text.slice(start + 1, entries[0]?.start);
  const gaps = entries.map((entry, index) => text.slice(tailOf(entry), entries[index + 1]?.start ?? end));
  return opening.includes('#') || gaps.some((gap) => /\n[ \t]*#/.test(gap));
}

/** Gives every entry that stays a comma; the last one only if the last one had one. */
function setCommas(draft: Draft, part: CollectionPart, slots: Slot[]): void {
  const trailing = lastComma(draft.text, part) === ',';
  const last = lastOf(slots);
  for (const slot of slots) {
    const { old, next } = slot;
    if (old === undefined || next === undefined) continue;
    const wants = trailing || slot !== last;
    if (wants && old.comma === undefined) draft.insert(old.end, ',');
    if (!wants && old.comma !== undefined) draft.remove(old.comma, old.comma + 1);
  }
}
