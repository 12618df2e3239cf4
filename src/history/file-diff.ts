import type { BlobContent } from '../desired/entry.ts';
import type { ReadBlob } from '../desired/load.ts';
import { MAX_FILE_BYTES } from '../desired/yaml/document.ts';
import { fileDiff } from '../plan/hunks.ts';
import type { FileDiff } from '../protocol/plan.ts';
import type { FileDelta, FileVersion } from './commit.ts';

/**
 * Resolves to a changed file with its hunks. Without texts if one is larger than a file of the desired state may be. What is
 * no plain file has no text; bytes that are not UTF-8 are shown as U+FFFD.
 */
export async function readFileDiff(
  path: string,
  { before, after }: Pick<FileDelta, 'before' | 'after'>,
  read: ReadBlob,
): Promise<FileDiff> {
  const contentOf = async (version: FileVersion | null): Promise<BlobContent> =>
    version?.type === 'file' ? read(version.blob, MAX_FILE_BYTES) : { missing: true };
  const [old, now] = await Promise.all([contentOf(before), contentOf(after)]);
  if ('tooLarge' in old || 'tooLarge' in now) return notShown(path);
  return fileDiff(path, textOf(old), textOf(now));
}

/** Returns a changed file without its texts. */
export function notShown(path: string): FileDiff {
  return { path, before: null, after: null, hunks: [], too_large: true };
}

function textOf(content: BlobContent): string | null {
  return 'bytes' in content ? Buffer.from(content.bytes).toString() : null;
}
