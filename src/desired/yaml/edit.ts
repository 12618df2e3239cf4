import type { Fields } from '../../protocol/values.ts';
import type { ReadYaml } from './document.ts';
import { editText } from './edit/edit-text.ts';

export { renderYaml } from './edit/render.ts';
export { salvageYaml } from './edit/salvage.ts';

/**
 * Edits a YAML text so that `readYaml` reads exactly `target` from the result. The edit is as small as possible:
 * comments, order, quoting, line breaks and all lines of unchanged values stay byte for byte. A text that already
 * holds `target` is returned unchanged. An empty file counts as a map without fields. A map or list in braces or brackets that
 * changes is written anew, in its style and without the comments between its entries.
 *
 * Throws an `invalid` error if `readYaml` refuses the text, if the text holds a list or a scalar instead of a map, or if
 * YAML cannot express `target`.
 *
 * How it works (`edit/`): `layout.ts` finds where each part of the parsed text stands, and `diff.ts` pairs the old entries
 * of each map and list with the new ones. `edit-part.ts` walks these pairs; `edit-value.ts` (one value), `edit-block.ts`
 * (entries in block style) and `edit-flow.ts` (values in braces or brackets) make the changes, collected in a `Patch` as offsets
 * of the original text. `text-style.ts` gives new text the quotes and indentation of its surroundings. `edit-text.ts` reads the
 * result back, and makes a coarser edit if the result does not parse to `target`.
 */
export function editYaml(text: string, target: Fields, read?: ReadYaml): string {
  return editText(text, target, read).text;
}
