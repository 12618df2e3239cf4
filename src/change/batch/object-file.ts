import { posix } from 'node:path';
import { decodeText, MAX_FILE_BYTES } from '../../desired/yaml/document.ts';
import { HoldfastError } from '../../errors.ts';
import type { ObjectKey } from '../../protocol/name.ts';
import type { ObjectFile, WriterDependencies } from '../write.ts';
import { takeSettled } from './settle.ts';

/** Resolves to the file of an object at the head of the branch, valid or not; see `Writer.file`. */
export async function objectFile(
  { kind, name }: ObjectKey,
  dependencies: WriterDependencies,
): Promise<ObjectFile | null> {
  const { revision, path, blob } = await takeSettled(dependencies, (revision, { desired }) => {
    const [path = ''] = desired.pathsOf(kind, name);
    return { revision, path, blob: desired.file(path)?.blob };
  });
  if (blob === undefined || revision === null) return null;
  const found = await dependencies.reader.blob(blob, MAX_FILE_BYTES);
  if (!('bytes' in found))
    throw new HoldfastError('conflict', `${path} is too large, or not in the repository`);
  return {
    path: posix.join(dependencies.folder, path),
    blob,
    text: editableText(found.bytes),
    revision,
  };
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
