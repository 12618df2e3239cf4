/** Offset of the first character of the line that holds `offset`. */
export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1;
}

/** Offset of the line below the one that holds `offset`; the end of the text for the last line. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset);
  return end === -1 ? text.length : end + 1;
}

/** How many characters stand before `offset` on its line. */
export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset);
}

/** Whether only blanks precede `offset` on its line. */
export function startsLine(text: string, offset: number): boolean {
  let at = offset;
  while (at > 0 && (text[at - 1] === ' ' || text[at - 1] === '\t')) at--;
  return at === 0 || text[at - 1] === '\n';
}

/** Whether only blanks and a comment follow from `offset` to the end of its line. */
export function endsLine(text: string, offset: number): boolean {
  const rest = /[ \t]*(?:#|\r?\n|$)/y;
  rest.lastIndex = offset;
  return rest.test(text);
}

/** A line that has a comment or nothing on it. `indent` is the column of the comment, undefined for a blank line. */
export interface QuietLine {
  start: number;
  end: number;
  indent: number | undefined;
}

/** The blank and comment lines from the line that begins at `offset` to the next line with content. */
export function quietLines(text: string, offset: number): QuietLine[] {
  const found: QuietLine[] = [];
  for (let start = offset; start < text.length; ) {
    const end = lineEnd(text, start);
    const line = text.slice(start, end);
    const indent = line.search(/[^ \t\r\n]/);
    if (indent !== -1 && line[indent] !== '#') break;
    found.push({ start, end, indent: indent === -1 ? undefined : indent });
    start = end;
  }
  return found;
}

/** Joins lines to a text: each is indented by `column` spaces and ended by `eol`; empty lines stay empty. */
export function joinLines(lines: readonly string[], column: number, eol: string): string {
  const pad = ' '.repeat(column);
  return lines.map((line) => (line === '' ? eol : pad + line + eol)).join('');
}

/**
 * The text without the blanks and line breaks at its end; `trimEnd` takes characters that YAML counts as content, too.
 */
export function trimBlanks(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r\n'.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}
