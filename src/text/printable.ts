/**
 * Control characters, line separators, invisible characters (among them those that change the direction of text), and the
 * start of a workflow command such as `##[add-mask]` or `##vso[...]`, which CI runners execute wherever it stands in a line
 * of output.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029]|#(?=#\w*\[)/gu;

/**
 * Returns the text with escapes in place of characters that could deceive a reader of a terminal, a log or a commit
 * message, or control a terminal or a CI runner.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => character.split('').map(escapeUnit).join(''));
}

/** Escapes a UTF-16 code unit, as JSON does. */
function escapeUnit(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/**
 * Returns equivalent JSON in which a CI runner finds no workflow command. In JSON, a `#` is always in a string, so it
 * can be written as an escape.
 */
export function escapeWorkflowCommands(json: string): string {
  return json.replace(/#(?=#\w*\[)/g, '\\u0023');
}
