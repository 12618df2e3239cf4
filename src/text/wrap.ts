/** The width of help where no terminal says how wide it is. */
export const USUAL_WIDTH = 80;

/** Returns a text as lines of at most so many characters; only a word that is longer has a longer line. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length <= width || line === '') line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line];
}

/** Returns a wrapped text whose lines begin with `first` and, from the second one on, with as many spaces as `indent` says. */
export function hanging(first: string, text: string, indent: number, width: number): string[] {
  const gap = ' '.repeat(indent);
  const [head = '', ...rest] = wrap(text, Math.max(width - indent, 20));
  const start = first.length > indent ? [first, gap + head] : [first.padEnd(indent) + head];
  return [...start, ...rest.map((line) => gap + line)].map((line) => line.trimEnd());
}

/** The widest that a first column gets. */
const FIRST_COLUMN = 26;

/** Lays out rows of two columns; the second one is wrapped, and begins on the next line where the first one is too wide. */
export function twoColumns(rows: readonly (readonly [string, string])[], width: number): string {
  const fitting = rows.map(([left]) => left.length).filter((length) => length <= FIRST_COLUMN);
  const indent = Math.max(...fitting, 0) + 4;
  return rows
    .flatMap(([left, right]) => (right === '' ? [`  ${left}`] : hanging(`  ${left}  `, right, indent, width)))
    .join('\n');
}
