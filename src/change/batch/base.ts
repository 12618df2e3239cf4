import { classifyPath } from '../../desired/file.ts';
import type { HoldfastError } from '../../errors.ts';
import { keyOf } from '../../protocol/name.ts';
import { findRevision } from '../../source/find-revision.ts';
import type { Reader } from '../../source/source.ts';
import { changedSince, revisionAbsent } from '../refusals.ts';
import type { WriterDependencies } from '../write.ts';
import { revisionRead } from './settle.ts';

/** The revision that a write is bound to, and the keys of the objects that have changed since. */
export interface BoundBase {
  revision: string;
  changed: ReadonlySet<string>;
}

/**
 * Resolves to what has changed between a revision and the one that the last pass read. Rejects as `absent` if there is no
 * such revision, as `unavailable` before the first pass.
 */
export async function boundBase(
  base: string,
  dependencies: Pick<WriterDependencies, 'reader' | 'origin' | 'reconciler' | 'waitLimit'>,
): Promise<BoundBase> {
  const { reader } = dependencies;
  const revision = await findRevision(base, dependencies);
  if (revision === null) throw revisionAbsent();
  const head = await revisionRead(dependencies);
  const paths = revision === head ? [] : await changedPaths(revision, head, reader);
  const keys = paths.flatMap((path) => {
    const role = classifyPath(path);
    return role.role === 'object' ? [keyOf(role.kind, role.name)] : [];
  });
  return { revision, changed: new Set(keys) };
}

/** Returns the error of a write to objects with these keys; null if none of them has changed since the base. */
export function baseError(base: BoundBase | null, keys: Iterable<string>): HoldfastError | null {
  if (base === null) return null;
  for (const key of keys) if (base.changed.has(key)) return changedSince(base.revision, key);
  return null;
}

async function changedPaths(from: string, to: string | null, reader: Reader): Promise<string[]> {
  const [before, after] = await Promise.all([
    reader.folderTree(from),
    to === null ? null : reader.folderTree(to),
  ]);
  if (before === after) return [];
  const changes = before === null || after === null ? null : await reader.changes(before, after);
  if (changes !== null) return changes.map(({ path }) => path);
  // One of them has no folder, or git cannot compare them: then every file counts as changed.
  const lists = await Promise.all([before, after].map((tree) => (tree === null ? [] : reader.list(tree))));
  return lists.flat().map(({ path }) => path);
}
