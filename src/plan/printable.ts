/** Control characters, and those that start a line or change the direction of text. */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * A text with escapes in place of characters that could deceive a reader of a terminal, a log or a commit message, or
 * control a terminal.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
