import type { ReadYaml } from '../desired/yaml/document.ts';
import { editYaml, renderYaml } from '../desired/yaml/edit.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Brings a file's text to the wished fields with the smallest edit. `targetOf` gets the fields that the text has,
 * valid or not. Only a text that is no YAML map at all is written anew.
 */
export function rewrite(text: string, targetOf: (fields: Fields) => Fields, read: ReadYaml): string {
  const fields = fieldsOf(text, read);
  return fields === null ? renderYaml(targetOf({})) : editYaml(text, targetOf(fields), read);
}

function fieldsOf(text: string, read: ReadYaml): Fields | null {
  const document = read(text);
  if (!document.ok) return null;
  const value = document.value.value ?? {};
  return typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : null;
}
