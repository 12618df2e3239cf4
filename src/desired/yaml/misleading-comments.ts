import type { CST } from 'yaml';

type Item = CST.CollectionItem;

/** A range of a text: from the first offset up to, but not including, the second. */
export type Span = [number, number];

/**
 * Finds the comments that can have misled the lexer of `yaml`: those on lines of their own between a key or dash and a
 * plain scalar of several lines. There, the lexer can forget how far the scalar must be indented, and then reads the
 * entries below it as more lines of the scalar: `- \n#why\n  a\n- b` becomes one item, `a - b`.
 */
export function misleadingComments(tokens: readonly CST.Token[]): Span[] {
  const found: Span[] = [];
  let level = tokens.map((token) => (token.type === 'document' ? token.value : undefined));
  while (level.length > 0) {
    const items = level.flatMap((token): Item[] =>
      token !== undefined && 'items' in token ? token.items : [],
    );
    for (const { start, key, sep, value } of items) {
      if (spansLines(key ?? value)) found.push(...commentLines(start));
      if (spansLines(value)) found.push(...commentLines(sep ?? []));
    }
    level = items.flatMap(({ key, value }) => [key ?? undefined, value]);
  }
  return found;
}

/** Returns the text with blanks in place of these spans. */
export function blanked(text: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const [start, end] of [...spans].sort(([a], [b]) => a - b)) {
    parts.push(text.slice(done, start), ' '.repeat(end - start));
    done = end;
  }
  return parts.concat(text.slice(done)).join('');
}

/** Whether a token is a plain scalar of several lines, or a map that begins with one. */
function spansLines(token: CST.Token | null | undefined): boolean {
  const first = token?.type === 'block-map' ? token.items[0]?.key : token;
  return first?.type === 'scalar' && first.source.includes('\n');
}

/** The comments on lines of their own among these tokens. */
function commentLines(tokens: readonly CST.SourceToken[]): Span[] {
  const firstBreak = tokens.findIndex(({ type }) => type === 'newline');
  return tokens.flatMap(({ type, offset, source }, index): Span[] =>
    type === 'comment' && firstBreak >= 0 && index > firstBreak ? [[offset, offset + source.length]] : [],
  );
}
