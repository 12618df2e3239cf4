import type { Fields } from '../values.ts';
import type { ReadYaml } from './document.ts';
import { editText } from './edit/edit-text.ts';

export { renderYaml } from './edit/render.ts';
export { salvageYaml } from './edit/salvage.ts';

/**
 * Edits a YAML text so that `readYaml` of the result gives exactly `target`. The edit is as small as possible:
 * comments, order, quoting, line breaks and all lines of unchanged values stay byte for byte. A text that already
 * holds `target` is returned unchanged, and an empty file counts as a map without fields.
 *
 * Throws an `invalid` error when `readYaml` refuses the text, when the text holds a list or a scalar instead of a
 * map, or when YAML cannot express `target`.
 *
 * How it works (`edit/`): `layout.ts` finds where each part of the parsed text stands, `diff.ts` pairs the old entries
 * of each map and list with the new ones, `edit-*.ts` and `flow-*.ts` collect the changes in a `Patch`, and `pen.ts`
 * gives new text the quotes and indentation of its surroundings. `edit-text.ts` reads the result back, and falls back
 * to a coarser edit if it does not hold `target`.
 */
export function editYaml(text: string, target: Fields, read?: ReadYaml): string {
  return editText(text, target, read).text;
}
