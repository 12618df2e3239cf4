import type { Entry, Part, ScalarPart } from './layout.ts';
import { nextLineStart, type TriviaLine, triviaLines } from './lines.ts';
import type { Patch } from './patch.ts';

/** Whether a value is a block scalar that keeps the blank lines below it as content (`|+`, `>+`). */
export function keepsBlankLines(text: string, { style, start, bodyStart }: ScalarPart): boolean {
  return style === 'block' && /^[|>]\d?\+/.test(text.slice(start, bodyStart));
}

/**
 * The column at which the content of a block scalar begins. `parentColumn` is that of the map or list around it, from which
 * an explicit width in the header (`|2`) counts.
 */
export function contentColumn(
  text: string,
  { start, bodyStart, end }: ScalarPart,
  parentColumn: number,
): number {
  const width = /^[|>][-+]?(\d)/.exec(text.slice(start, bodyStart))?.[1];
  if (width !== undefined) return parentColumn + Number(width);
  return /^(?:[ \t]*\r?\n)*( +)/.exec(text.slice(bodyStart, end))?.[1]?.length ?? parentColumn + 2;
}

/**
 * Protects the comments and blank lines below a removed entry from becoming content of a block scalar: once the
 * entry is gone, they follow `above` directly, and a block scalar at its end would take in blank lines and whatever is
 * indented. Comments move left to `column`, that of the collection; blank lines are removed or emptied.
 */
export function protectLinesBelow(patch: Patch, above: Entry, removed: Entry, column: number): void {
  const scalars = blockScalars(above.value);
  if (scalars.length === 0) return;
  const { text } = patch;
  const lines = triviaLines(text, nextLineStart(text, removed.end));
  // The first comment that is not indented further than the collection ends the block scalar.
  const endsScalar = (line: TriviaLine): boolean =>
    isComment(line) &&
    line.commentColumn <= column &&
    !text.slice(line.start, line.start + line.commentColumn).includes('\t');
  for (const { start, commentColumn } of linesBefore(lines, endsScalar)) {
    if (commentColumn !== undefined) patch.replace(start, start + commentColumn, ' '.repeat(column));
  }
  const areKept = scalars.some((scalar) => keepsBlankLines(text, scalar));
  for (const { start, end } of linesBefore(lines, isComment)) {
    if (areKept) patch.remove(start, end);
    else if (/^[ \t]/.test(text.slice(start, end))) patch.replace(start, end, patch.eol);
  }
}

function isComment(line: TriviaLine): line is TriviaLine & { commentColumn: number } {
  return line.commentColumn !== undefined;
}

/** The lines before the first one that `isStop` accepts; all of them if it accepts none. */
function linesBefore(lines: readonly TriviaLine[], isStop: (line: TriviaLine) => boolean): TriviaLine[] {
  const index = lines.findIndex(isStop);
  return lines.slice(0, index === -1 ? undefined : index);
}

/** The block scalars in a value. */
export function blockScalars(part: Part): ScalarPart[] {
  if (part.kind === 'scalar') return part.style === 'block' ? [part] : [];
  return part.form === 'block' ? part.entries.flatMap((entry) => blockScalars(entry.value)) : [];
}
