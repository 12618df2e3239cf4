/** Control characters, and those that change the direction or the line: what moves a cursor or deceives a reader. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** A text that shows on a terminal, in a log or in a commit's message what it holds, and does nothing else there. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
