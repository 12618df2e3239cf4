import { newFilePath } from '../../desired/file.ts';
import { cachedReadYaml, isTooLarge, type ReadYaml } from '../../desired/yaml/document.ts';
import { editYaml, renderYaml, salvageYaml } from '../../desired/yaml/edit.ts';
import type { Kind } from '../../protocol/name.ts';
import { type Fields, isMapValue } from '../../protocol/values.ts';
import type { FileEdit } from '../../source/source.ts';
import { FileTooLarge, fileMoved } from '../refusals.ts';
import type { FileWrite } from '../write.ts';
import type { WriteView } from './view.ts';

/** Returns the edit that adds the file of a new object. */
export function newFile(kind: Kind, name: string, fields: Fields): FileEdit {
  return { path: newFilePath(kind, name), text: renderYaml(fields) };
}

/** Returns the edits that remove these files. */
export function removeFiles(paths: readonly string[]): FileEdit[] {
  return paths.map((path) => ({ path, text: null }));
}

/** Returns the edit that a path gets; none if its file is so already. Throws `moved-on` if it is not the expected one. */
export function fileEdit(write: FileWrite, { desired, texts }: WriteView): FileEdit[] {
  const { kind, name, path, text, expected } = write;
  const found = expected === null ? desired.pathsOf(kind, name)[0] : path;
  const blob = desired.file(found ?? path)?.blob ?? null;
  if (expected !== undefined && expected !== blob) throw fileMoved(blob);
  const isSo = text === null ? desired.file(path) === undefined : texts.get(path) === text;
  return isSo && isValid(desired, path) ? [] : [{ path, text }];
}

/**
 * Returns the smallest edit after which a file has the fields that `targetOf` returns for its present fields, whether
 * those are valid or not; no edit if the file has them already, as UTF-8. If the file cannot be parsed, the fields that can be
 * read are kept; if there are none, everything below the comments at its top is replaced. Throws FileTooLarge.
 */
export function editFile(
  path: string,
  { texts, desired }: Pick<WriteView, 'texts' | 'desired'>,
  targetOf: (fields: Fields) => Fields,
): FileEdit[] {
  const text = texts.get(path) ?? '';
  // Kept for this edit only: a parsed tree takes a hundred times the memory of its text.
  const read = cachedReadYaml();
  const readable = read(text).ok ? text : (salvageYaml(text, read) ?? text);
  const fields = fieldsOf(readable, read);
  const target = targetOf(fields ?? {});
  const rendered = renderYaml(target);
  // No edit can hold these values, and each attempt would take long.
  if (isTooLarge(rendered)) throw new FileTooLarge();
  const edited = fields === null ? withHeader(text, rendered) : editYaml(readable, target, read);
  return edited === text && isValid(desired, path) ? [] : [{ path, text: edited }];
}

/** False for a file in another encoding: its bytes are not those of the text that is edited (see `editableText`). */
function isValid(desired: WriteView['desired'], path: string): boolean {
  const file = desired.file(path);
  return file?.kind == null || file.parsed.ok;
}

function fieldsOf(text: string, read: ReadYaml): Fields | null {
  const document = read(text);
  if (!document.ok) return null;
  const value = document.value.value ?? {};
  return isMapValue(value) ? value : null;
}

/** Returns the new text below the comments that the unreadable one begins with. */
function withHeader(old: string, text: string): string {
  const header = /^\ufeff?(?:[ \t]*(?:#[^\n]*|\r?)\n)*/.exec(old)?.[0] ?? '';
  const eol = header.endsWith('\r\n') ? '\r\n' : '\n';
  return header + text.replaceAll('\n', eol);
}
