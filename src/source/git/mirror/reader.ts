import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader } from '../../source.ts';
import type { MirrorState } from './state.ts';

/**
 * Returns a reader of the mirror that reads it as if it were origin. A failure to read, which can mean that the mirror is
 * damaged, marks the mirror as suspect.
 */
export function mirrorReader(inner: Reader, branch: string, mirror: MirrorState): Reader {
  let hadTip = false;
  const head = async (): Promise<Head> => {
    const { revision } = await inner.head();
    if (revision === null) await mirror.requireReached();
    // The tip is never removed, so a mirror without it is damaged; its files must not count as deleted.
    if (revision === null && hadTip)
      throw new HoldfastError('unavailable', 'the mirror of origin is damaged; it is being recreated');
    hadTip = revision !== null;
    return { revision, branch };
  };
  const suspecting =
    <A extends unknown[], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      try {
        return await read(...args);
      } catch (error) {
        mirror.suspect();
        throw error;
      }
    };
  const reportedMissing = new Set<string>();
  const blob: Reader['blob'] = async (id, maxBytes) => {
    const found = await inner.blob(id, maxBytes);
    // Origin accepts no commit without its blobs. A blob that is missing again from the new mirror is missing there, too.
    if (!('missing' in found) || reportedMissing.has(id)) return found;
    reportedMissing.add(id);
    throw new HoldfastError(
      'unavailable',
      'a file of the commit is missing from the mirror; it is being recreated',
    );
  };
  return {
    ...inner,
    head: suspecting(head),
    resolve: suspecting(inner.resolve),
    folderTree: suspecting(inner.folderTree),
    entriesAt: suspecting(inner.entriesAt),
    list: suspecting(inner.list),
    changes: suspecting(inner.changes),
    blob: suspecting(blob),
    commit: suspecting(inner.commit),
    lastChange: suspecting(inner.lastChange),
    isAncestor: suspecting(inner.isAncestor),
    commonAncestor: suspecting(inner.commonAncestor),
    touchedPaths: suspecting(inner.touchedPaths),
    log: suspecting(inner.log),
    blame: suspecting(inner.blame),
  };
}
