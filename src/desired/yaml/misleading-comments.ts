import type { CST } from 'yaml';

type Item = CST.CollectionItem;

/** A stretch of a text: from the first number to before the second. */
export type Span = [number, number];

/**
 * The comments that may have misled the lexer of `yaml`: on lines of their own between a key or dash and a plain scalar
 * of several lines. At such a comment the lexer can forget how far the scalar has to be indented, and then takes the
 * entries below it for more lines of the scalar: in `- \n#why\n  a\n- b`, it sees one item, `a - b`.
 */
export function misleadingComments(tokens: readonly CST.Token[]): Span[] {
  const found: Span[] = [];
  let level = tokens.map((token) => (token.type === 'document' ? token.value : undefined));
  while (level.length > 0) {
    const items = level.flatMap((token): Item[] =>
      token !== undefined && 'items' in token ? token.items : [],
    );
    for (const { start, key, sep, value } of items) {
      if (spansLines(key ?? value)) found.push(...ownLines(start));
      if (spansLines(value)) found.push(...ownLines(sep ?? []));
    }
    level = items.flatMap(({ key, value }) => [key ?? undefined, value]);
  }
  return found;
}

/** The text with blanks in place of these spans. */
export function blanked(text: string, spans: readonly Span[]): string {
  const parts: string[] = [];
  let done = 0;
  for (const [start, end] of [...spans].sort(([a], [b]) => a - b)) {
    parts.push(text.slice(done, start), ' '.repeat(end - start));
    done = end;
  }
  return parts.concat(text.slice(done)).join('');
}

/** Whether a token is or, as a map, begins with a plain scalar of several lines. */
function spansLines(token: CST.Token | null | undefined): boolean {
  const first = token?.type === 'block-map' ? token.items[0]?.key : token;
  return first?.type === 'scalar' && first.source.includes('\n');
}

function ownLines(tokens: readonly CST.SourceToken[]): Span[] {
  return tokens.flatMap(({ type, offset, source }, index): Span[] => {
    const isOwnLine = tokens.slice(0, index).some((before) => before.type === 'newline');
    return type === 'comment' && isOwnLine ? [[offset, offset + source.length]] : [];
  });
}
