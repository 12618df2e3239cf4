import type { Source } from './source.ts';

/**
 * Resolves to the full id of a commit that a user names (`Reader.resolve`), also of a tag, a branch or a commit that only
 * origin has; null if there is none. Rejects as `unavailable` if it is not here, and origin cannot be reached.
 */
export async function findRevision(
  name: string,
  { reader, origin }: Pick<Source, 'reader' | 'origin'>,
): Promise<string | null> {
  const known = await reader.resolve(name);
  if (known !== null || origin === null) return known;
  const found = await origin.find(name);
  return found === null ? null : reader.resolve(found);
}
