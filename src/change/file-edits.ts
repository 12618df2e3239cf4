import { newFilePath } from '../desired/file.ts';
import type { Kind } from '../desired/name.ts';
import { type Fields, isMapValue } from '../desired/values.ts';
import { type ReadYaml, readingYaml, readOnce } from '../desired/yaml/document.ts';
import { editYaml, renderYaml, salvageYaml } from '../desired/yaml/edit.ts';
import type { FileEdit } from '../source/source.ts';
import type { WriteView } from './view.ts';

/** Work on edits that stops between its pieces, so that a caller with others to serve can give way there. */
export type Editing = Generator<undefined, FileEdit[], undefined>;

/** The file of a new object. */
export function newFile(kind: Kind, name: string, fields: Fields): FileEdit {
  return { path: newFilePath(kind, name), text: renderYaml(fields) };
}

/** The removal of files. */
export function removeFiles(paths: readonly string[]): FileEdit[] {
  return paths.map((path) => ({ path, text: null }));
}

/**
 * The smallest edit of a file after which it has the fields that `targetOf` makes of those it has now, valid or not; no
 * edit if it has them already. Of a file that cannot be read, the fields that can be stay; if none can, it is replaced,
 * below the comments at its top.
 */
export function* editFile(
  path: string,
  { texts }: Pick<WriteView, 'texts'>,
  targetOf: (fields: Fields) => Fields,
): Editing {
  const text = texts.get(path) ?? '';
  // What was read goes with the edit of its file: a tree takes a hundred times the memory of its text.
  const read = readOnce(new Map([[text, yield* readingYaml(text)]]));
  yield;
  const readable = read(text).ok ? text : (salvageYaml(text, read) ?? text);
  const fields = fieldsOf(readable, read);
  const edited =
    fields === null
      ? headed(text, renderYaml(targetOf({})), read)
      : editYaml(readable, targetOf(fields), read);
  yield;
  return edited === text ? [] : [{ path, text: edited }];
}

function fieldsOf(text: string, read: ReadYaml): Fields | null {
  const document = read(text);
  if (!document.ok) return null;
  const value = document.value.value ?? {};
  return isMapValue(value) ? value : null;
}

/** A new text below the comments that an unreadable one begins with, unless those are what cannot be read. */
function headed(old: string, text: string, read: ReadYaml): string {
  const header = /^\ufeff?(?:[ \t]*(?:#[^\n]*|\r?)\n)*/.exec(old)?.[0] ?? '';
  const eol = header.endsWith('\r\n') ? '\r\n' : '\n';
  const whole = header + text.replaceAll('\n', eol);
  return read(whole).ok ? whole : text;
}
