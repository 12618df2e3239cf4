import { createHash } from 'node:crypto';
import { appDefaults } from '../desired/app.ts';
import type { Content } from '../desired/content.ts';
import type { Kind } from '../desired/name.ts';

/** 128 bits of SHA-256. */
const HEX_DIGITS = 32;

/**
 * The defaults that a hash leaves out, as canonical text by field. They are part of what the hash means, so
 * the setting `DEFAULT_NETWORKS` has no say here: a hash in the record outlives a change of it.
 */
const LEFT_OUT: ReadonlyMap<string, string> = new Map(
  Object.entries(appDefaults(['nebula', 'bridge'])).map(([field, value]) => [field, canonical(value)]),
);

/**
 * A digest of what devices see, as 32 hex digits: equal for equal contents (maps in any order of keys, lists
 * in theirs) and different for all others. A field of an app that equals its built-in default counts as
 * absent, so that a product version which adds a field with a default changes no hash.
 */
export function contentHash(kind: Kind, content: Content): string {
  const fields = Object.entries(content).filter(
    ([field, value]) => kind !== 'app' || canonical(value) !== LEFT_OUT.get(field),
  );
  return createHash('sha256')
    .update(`${kind} ${canonicalMap(fields)}`)
    .digest('hex')
    .slice(0, HEX_DIGITS);
}

/** JSON with sorted keys. What JSON leaves out (`undefined`) is left out here too. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === 'object' && value !== null) return canonicalMap(Object.entries(value));
  return JSON.stringify(value) ?? 'null';
}

function canonicalMap(entries: readonly [string, unknown][]): string {
  const present = entries.filter(([, value]) => value !== undefined);
  const sorted = present.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([key, value]) => `${JSON.stringify(key)}:${canonical(value)}`).join()}}`;
}
