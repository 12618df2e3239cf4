import { posix } from 'node:path';
import { newFilePath } from '../../desired/file.ts';
import { decodeText, MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import { HoldfastError } from '../../errors.ts';
import type { ObjectKey } from '../../protocol/name.ts';
import type { FileWrite, ObjectFile, WriterDependencies } from '../write.ts';
import { takeSettled } from './settle.ts';

/** Resolves to the file of an object at the head of the branch, valid or not; see `Writer.file`. */
export async function objectFile(
  { kind, name }: ObjectKey,
  dependencies: WriterDependencies,
): Promise<ObjectFile | null> {
  const { revision, paths, blob } = await takeSettled(dependencies, (revision, { desired }) => {
    const paths = desired.pathsOf(kind, name);
    return { revision, paths, blob: desired.file(paths[0] ?? '')?.blob };
  });
  const [path = ''] = paths;
  if (blob === undefined || revision === null) return null;
  const found = await dependencies.reader.blob(blob, MAX_FILE_BYTES);
  if (!('bytes' in found))
    throw new HoldfastError('conflict', `${path} is too large, or not in the repository`);
  return {
    path: posix.join(dependencies.folder, path),
    blob,
    text: editableText(found.bytes),
    revision,
    paths,
  };
}

/**
 * Returns the changes that give the file of an object this text, and leave it the only one of that name. `present` is what
 * `objectFile` has found; if the file is another one by then, the changes are refused as `moved-on`.
 */
export function fileWrites(object: ObjectKey, text: string, present: ObjectFile | null): FileWrite[] {
  const { kind, name } = object;
  const [path = newFilePath(kind, name), ...others] = present?.paths ?? [];
  return [
    { kind, op: 'file', name, path, text, expected: present?.blob ?? null },
    ...others.map((other): FileWrite => ({ kind, op: 'file', name, path: other, text: null })),
  ];
}

/**
 * Returns the text to edit. A file that is not UTF-8 is decoded as Windows-1252, as old editors write it, so that an
 * edit can keep its comments, if nothing else. A file with NUL characters, which would be refused again, counts as
 * empty.
 */
export function editableText(bytes: Uint8Array): string {
  const decoded = decodeText(bytes);
  if (decoded.ok) return decoded.value;
  const text = new TextDecoder('windows-1252').decode(bytes);
  return text.includes('\0') ? '' : text;
}
