import type { Entry, Part, ScalarPart } from './layout.ts';
import { lineEnd, type QuietLine, quietLines } from './lines.ts';
import type { Draft } from './splice.ts';

/** Whether a value is a block scalar that owns the blank lines below it (`|+`). */
export function keepsBlanks(text: string, { style, start, body }: ScalarPart): boolean {
  return style === 'block' && /^[|>]\d?\+/.test(text.slice(start, body));
}

/** Where the lines of a block scalar begin. `outer` is the column of the collection that it stands in. */
export function contentColumn(text: string, { start, body, end }: ScalarPart, outer: number): number {
  const width = /^[|>][-+]?(\d)/.exec(text.slice(start, body))?.[1];
  if (width !== undefined) return outer + Number(width);
  return /^(?:[ \t]*\r?\n)*( +)/.exec(text.slice(body, end))?.[1]?.length ?? outer + 2;
}

/**
 * Saves the lines below a removed entry from a block scalar in `above`, which they may follow now: comments move to
 * `column`, blank lines go where they would count.
 */
export function settleBelow(draft: Draft, above: Entry, removed: Entry, column: number): void {
  const blocks = blockScalars(above.value);
  if (blocks.length === 0) return;
  const lines = quietLines(draft.text, lineEnd(draft.text, removed.end));
  for (const { start, indent } of before(lines, (line) => isComment(line) && line.indent <= column)) {
    if (indent !== undefined) draft.replace(start, start + indent, ' '.repeat(column));
  }
  if (!blocks.some((block) => keepsBlanks(draft.text, block))) return;
  for (const { start, end } of before(lines, isComment)) draft.remove(start, end);
}

function isComment(line: QuietLine): line is QuietLine & { indent: number } {
  return line.indent !== undefined;
}

function before<T>(items: readonly T[], stop: (item: T) => boolean): T[] {
  const index = items.findIndex(stop);
  return items.slice(0, index === -1 ? undefined : index);
}

function blockScalars(part: Part): ScalarPart[] {
  if (part.kind === 'scalar') return part.style === 'block' ? [part] : [];
  return part.form === 'block' ? part.entries.flatMap((entry) => blockScalars(entry.value)) : [];
}
