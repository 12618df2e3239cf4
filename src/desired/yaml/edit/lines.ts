/** Offset of the first character of the line that holds `offset`. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Offset of the first character of the line below the one that holds `offset`; the end of the text for the last line. */
export function nextLineStart(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** Number of characters before `offset` on its line. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** The blanks directly before `offset`. */
export function blanksBefore(text: string, offset: number): string {
  let at = offset;
  while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\t')) at--;
  return text.slice(at, offset);
}

/** Whether only blanks precede `offset` on its line. */
export function isFirstOnLine(text: string, offset: number): boolean {
  const at = offset - blanksBefore(text, offset).length;
  return at === 0 || text[at - 1] === '\n';
}

/** A line without content: a blank line, or a comment on a line of its own. */
export interface TriviaLine {
  start: number;
  /** Offset of the next line. */
  end: number;
  /** The column of the comment; undefined for a blank line. */
  commentColumn: number | undefined;
}

/** The blank and comment lines from the line that begins at `offset` up to the next line with content. */
export function triviaLines(text: string, offset: number): TriviaLine[] {
  const found: TriviaLine[] = [];
  for (let start = offset; start < text.length; ) {
    const end = nextLineStart(text, start);
    const line = text.slice(start, end);
    const column = line.search(/[^ \t\r\n]/);
    if (column !== -1 && line[column] !== '#') break;
    found.push({ start, end, commentColumn: column === -1 ? undefined : column });
    start = end;
  }
  return found;
}

/** Joins lines into a text: each is indented by `column` spaces and ended by `eol`; empty lines stay empty. */
export function joinLines(lines: readonly string[], column: number, eol: string): string {
  const pad = ' '.repeat(column);
  return lines.map((line) => (line === '' ? eol : pad + line + eol)).join('');
}

/**
 * The text without blanks and line breaks at its end. `trimEnd` would also remove characters that are content in YAML, such
 * as no-break spaces.
 */
export function trimTrailingBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
