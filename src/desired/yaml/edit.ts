import type { ReadYaml } from './document.ts';
import { editText } from './edit-text.ts';

export { renderYaml } from './render.ts';

/**
 * Edits a YAML text so that it holds `target`: `readYaml` of the result gives a value equal to it. The change is as
 * small as it can be: comments, order, quoting, line breaks and every line not concerned stay byte for byte, and a
 * text that holds `target` already is returned as it is. An empty file counts as one without fields. Throws an
 * `invalid` error when `readYaml` refuses the text, when its top is a list or scalar, or when no YAML can hold
 * `target`.
 */
export function editYaml(text: string, target: Readonly<Record<string, unknown>>, read?: ReadYaml): string {
  return editText(text, target, read).text;
}
