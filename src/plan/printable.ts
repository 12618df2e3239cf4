/**
 * Control characters, those that start a line or change the direction of text, and the start of what runners of
 * workflows take for a command wherever it stands in a line: `##[add-mask]`, `##vso[...]`.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]|#(?=#\w*\[)/gu;

/**
 * A text with escapes in place of characters that could deceive a reader of a terminal, a log or a commit message, or
 * control a terminal or a workflow.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** JSON that says the same and, wherever a workflow prints it, gives no command: in JSON, a `#` is always in a string. */
export function harmlessJson(json: string): string {
  return json.replace(/#(?=#\w*\[)/g, '\\u0023');
}
