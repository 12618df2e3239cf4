import { isMapValue } from '../../../protocol/values.ts';
import { type ReadYaml, readYaml } from '../document.ts';

/** A line that begins a top-level field. `-` can begin an item of a list below its key instead. */
const FIELD_START = /^(?:[^\s#%{[\]},.-]|-[^\s-])/;
/** A line that begins another document. */
const DOCUMENT_START = /^---(?:\s|$)/;
/** A blank line or a comment. */
const TRIVIA = /^[ \t]*(?:#[^\n]*|\r?)$/;

/** Most fields in a text that is salvaged: each is parsed by itself, and valid files have about ten. */
const MAX_FIELDS = 100;

/**
 * Returns a text without those of its top-level fields that cannot be read, and without the comments in them. Of several
 * fields with the same name, the first stays. Null if the problem is not limited to single fields.
 */
export function salvageYaml(text: string, read: ReadYaml = readYaml): string | null {
  const bom = text.startsWith('\ufeff') ? '\ufeff' : '';
  const lines = readableLines(text.slice(bom.length), read);
  if (lines === null) return null;
  const rest = bom + lines.join('');
  const result = read(rest);
  return result.ok && isMapValue(result.value.value ?? {}) ? rest : null;
}

function readableLines(text: string, read: ReadYaml): string[] | null {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const starts = lines.flatMap((line, index) => (FIELD_START.test(line) ? [index] : []));
  if (starts.length > MAX_FIELDS || lines.slice(starts[0]).some((line) => DOCUMENT_START.test(line)))
    return null;
  const names = new Set<string>();
  const kept = [lines.slice(0, starts[0])];
  for (const [index, start] of starts.entries()) {
    const { own, below } = cutField(lines.slice(start, starts[index + 1]));
    const name = nameOf(own.join(''), read);
    if (name !== undefined && !names.has(name)) kept.push(own);
    if (name !== undefined) names.add(name);
    kept.push(below);
  }
  return kept.flat();
}

/** A field's own lines, and the blank lines and comments between it and the next field. */
function cutField(lines: readonly string[]): { own: string[]; below: string[] } {
  const end = lines.findLastIndex((line) => !TRIVIA.test(line.replace(/\n$/, ''))) + 1;
  return { own: lines.slice(0, end), below: lines.slice(end) };
}

/** The name of the only field in a text; undefined if the text cannot be read as one field. */
function nameOf(text: string, read: ReadYaml): string | undefined {
  const result = read(text);
  const names = result.ok && isMapValue(result.value.value) ? Object.keys(result.value.value) : [];
  return names.length === 1 ? names[0] : undefined;
}
