/** The words of a command. */
export interface ShellWords {
  words: string[];
  /** Whether it has one of `; & | < >` outside of quotes: there Compose ends the command. */
  isCut: boolean;
}

/** A word: plain characters, escaped ones, and texts in quotes. */
const PART = `[^\\s'"\\\\;&|<>()]|\\\\.|'[^']*'|"(?:[^"\\\\]|\\\\.)*"`;
const WORD = new RegExp(`\\s*((?:${PART})+)`, 'sy');
const PARTS = new RegExp(PART, 'gs');
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t' };

/**
 * Splits a command into words as Compose does: at spaces, with single quotes, double quotes and backslashes, and without
 * a shell. Returns null if a quote is not closed, or a parenthesis is outside of quotes.
 */
export function shellWords(command: string): ShellWords | null {
  const words: string[] = [];
  let end = 0;
  WORD.lastIndex = 0;
  for (let match = WORD.exec(command); match !== null; match = WORD.exec(command)) {
    words.push((match[1] ?? '').replace(PARTS, textOf));
    end = WORD.lastIndex;
  }
  const rest = command.slice(end).trimStart();
  return rest === '' || /^[;&|<>]/.test(rest) ? { words, isCut: rest !== '' } : null;
}

/** The text of a part of a word. */
function textOf(part: string): string {
  if (part.startsWith("'")) return part.slice(1, -1);
  const inside = part.startsWith('"') ? part.slice(1, -1) : part;
  return inside.replace(/\\(.)/gs, (_, char: string) => ESCAPES[char] ?? char);
}
