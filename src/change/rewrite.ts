import { readYaml } from '../desired/yaml/document.ts';
import { editYaml, renderYaml } from '../desired/yaml/edit.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * Brings a file's text to the wished fields with the smallest edit. `targetOf` gets the fields that the text has,
 * valid or not. Only a text that is no YAML map at all is written anew.
 */
export function rewrite(text: string, targetOf: (fields: Fields) => Fields): string {
  const fields = fieldsOf(text);
  return fields === null ? renderYaml(targetOf({})) : editYaml(text, targetOf(fields));
}

function fieldsOf(text: string): Fields | null {
  const document = readYaml(text);
  if (!document.ok) return null;
  const value = document.value.value ?? {};
  return typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : null;
}
