import type { Entry, Part, ScalarPart } from './layout.ts';
import { lineEnd, type QuietLine, quietLines } from './lines.ts';
import type { Patch } from './patch.ts';

/** Whether a value is a block scalar to which the blank lines below it belong (`|+`, `>+`). */
export function keepsBlanks(text: string, { style, start, body }: ScalarPart): boolean {
  return style === 'block' && /^[|>]\d?\+/.test(text.slice(start, body));
}

/** The column at which the lines of a block scalar begin. `outer` is the column of the collection around it. */
export function contentColumn(text: string, { start, body, end }: ScalarPart, outer: number): number {
  const width = /^[|>][-+]?(\d)/.exec(text.slice(start, body))?.[1];
  if (width !== undefined) return outer + Number(width);
  return /^(?:[ \t]*\r?\n)*( +)/.exec(text.slice(body, end))?.[1]?.length ?? outer + 2;
}

/**
 * Keeps a block scalar at the end of `above` from swallowing the lines that followed `removed`, now that nothing
 * stands between them: comments move left to `column`, and blank lines are removed or emptied if they would become content.
 */
export function settleBelow(patch: Patch, above: Entry, removed: Entry, column: number): void {
  const blocks = blockScalars(above.value);
  if (blocks.length === 0) return;
  const { text } = patch;
  const lines = quietLines(text, lineEnd(text, removed.end));
  const isOutside = (line: QuietLine): boolean =>
    isComment(line) &&
    line.indent <= column &&
    !text.slice(line.start, line.start + line.indent).includes('\t');
  for (const { start, indent } of before(lines, isOutside)) {
    if (indent !== undefined) patch.replace(start, start + indent, ' '.repeat(column));
  }
  const keeps = blocks.some((block) => keepsBlanks(text, block));
  for (const { start, end } of before(lines, isComment)) {
    if (keeps) patch.remove(start, end);
    else if (/^[ \t]/.test(text.slice(start, end))) patch.replace(start, end, patch.eol);
  }
}

function isComment(line: QuietLine): line is QuietLine & { indent: number } {
  return line.indent !== undefined;
}

/** The items before the first one that `stop` accepts. */
function before<T>(items: readonly T[], stop: (item: T) => boolean): T[] {
  const index = items.findIndex(stop);
  return items.slice(0, index === -1 ? undefined : index);
}

function blockScalars(part: Part): ScalarPart[] {
  if (part.kind === 'scalar') return part.style === 'block' ? [part] : [];
  return part.form === 'block' ? part.entries.flatMap((entry) => blockScalars(entry.value)) : [];
}
