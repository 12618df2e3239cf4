import { HoldfastError } from '../../../errors.ts';
import type { Head, Reader } from '../../source.ts';
import type { MirrorState } from './mirror-state.ts';

/** Reads the mirror as if it were the repository that it mirrors. */
export function mirrorReader(inner: Reader, branch: string, mirror: MirrorState): Reader {
  let hadTip = false;
  const head = async (): Promise<Head> => {
    const { revision } = await inner.head();
    if (revision === null) await mirror.requireReached();
    // Nobody takes the tip away: a mirror that has lost it is damaged, and nothing may be taken for deleted.
    if (revision === null && hadTip)
      throw new HoldfastError('unavailable', 'the mirror of origin is damaged; it is being recreated');
    hadTip = revision !== null;
    return { revision, branch };
  };
  const noting =
    <A extends unknown[], T>(read: (...args: A) => Promise<T>) =>
    async (...args: A): Promise<T> => {
      try {
        return await read(...args);
      } catch (error) {
        mirror.suspect();
        throw error;
      }
    };
  const missing = new Set<string>();
  const blob: Reader['blob'] = async (id, maxBytes) => {
    const found = await inner.blob(id, maxBytes);
    // Origin takes no commit without its blobs; what a whole mirror still does not have is missing there, too.
    if (!('missing' in found) || missing.has(id)) return found;
    missing.add(id);
    throw new HoldfastError(
      'unavailable',
      'a file of the commit is missing from the mirror; it is being recreated',
    );
  };
  return {
    ...inner,
    head: noting(head),
    folder: noting(inner.folder),
    list: noting(inner.list),
    changes: noting(inner.changes),
    blob: noting(blob),
    commit: noting(inner.commit),
    isAncestor: noting(inner.isAncestor),
  };
}
