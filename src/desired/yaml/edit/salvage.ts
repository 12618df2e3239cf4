import { isMapValue } from '../../values.ts';
import { type ReadYaml, readYaml } from '../document.ts';

/** A line at which a field of the top begins. `-` is a list below its key, if there is one. */
const FIELD_START = /^(?:[^\s#%{[\]},.-]|-[^\s-])/;
/** A line that begins another document. */
const MARKER = /^---(?:\s|$)/;
const QUIET = /^[ \t]*(?:#[^\n]*|\r?)$/;

/** Most fields that are looked at: ours are about ten, and each is parsed by itself. */
const MAX_FIELDS = 100;

/**
 * What is left of a text once the fields of its top that cannot be read are taken out, together with the comments in
 * them; of two fields with one name, the first stays. Null where more than single fields is wrong.
 */
export function salvageYaml(text: string, read: ReadYaml = readYaml): string | null {
  const mark = text.startsWith('\ufeff') ? '\ufeff' : '';
  const lines = readableLines(text.slice(mark.length), read);
  if (lines === null) return null;
  const rest = mark + lines.join('');
  const result = read(rest);
  return result.ok && isMapValue(result.value.value ?? {}) ? rest : null;
}

function readableLines(text: string, read: ReadYaml): string[] | null {
  const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  const starts = lines.flatMap((line, index) => (FIELD_START.test(line) ? [index] : []));
  if (starts.length > MAX_FIELDS || lines.slice(starts[0]).some((line) => MARKER.test(line))) return null;
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
  const end = lines.findLastIndex((line) => !QUIET.test(line.replace(/\n$/, ''))) + 1;
  return { own: lines.slice(0, end), below: lines.slice(end) };
}

/** The name of the one field that a text holds; undefined if it cannot be read as that. */
function nameOf(text: string, read: ReadYaml): string | undefined {
  const result = read(text);
  const names = result.ok && isMapValue(result.value.value) ? Object.keys(result.value.value) : [];
  return names.length === 1 ? names[0] : undefined;
}
