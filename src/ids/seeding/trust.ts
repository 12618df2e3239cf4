import { classifyPath } from '../../desired/file.ts';
import { keyOf } from '../../protocol/name.ts';
import type { IdsReader } from '../ids-reader.ts';

/**
 * Whether the object with this key certainly did not change after the record was written. Only then does its recorded
 * id still belong to its recorded content: otherwise it could have become something else under a higher id, and come
 * back.
 */
export type Trust = (key: string) => boolean;

const TRUST_NONE: Trust = () => false;

/**
 * Finds the objects that certainly did not change between the recorded revision and the head, which descends from it: no
 * commit between the two touches their files.
 *
 * Nothing is trusted if the head does not descend from the recorded revision, or if git cannot answer. Rejects as
 * `unavailable`.
 */
export async function trustOf(
  recorded: string | null,
  head: string | null,
  reader: Pick<IdsReader, 'isAncestor' | 'touchedPaths'>,
): Promise<Trust> {
  if (recorded === null || head === null) return TRUST_NONE;
  if (recorded !== head && !(await reader.isAncestor(recorded, head))) return TRUST_NONE;
  const paths = await reader.touchedPaths(recorded, head);
  if (paths === null) return TRUST_NONE;
  const roles = [...paths].map(classifyPath).filter((role) => role.role === 'object');
  const touched = new Set(roles.map(({ kind, name }) => keyOf(kind, name)));
  return (key) => !touched.has(key);
}
