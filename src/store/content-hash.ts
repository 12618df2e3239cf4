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
const LEFT_OUT: ReadonlyMap<string, string> = new Map(canonicalFields(appDefaults(['nebula', 'bridge'])));

/**
 * A digest of what devices see, as 32 hex digits: equal for equal contents (maps in any order of keys, lists
 * in theirs) and different for all others. A field of an app that equals its built-in default counts as
 * absent, so that a product version which adds a field with a default changes no hash.
 */
export function contentHash(kind: Kind, content: Content): string {
  const fields = canonicalFields(content).filter(
    ([field, text]) => kind !== 'app' || text !== LEFT_OUT.get(field),
  );
  return createHash('sha256')
    .update(`${kind} ${mapOf(fields)}`)
    .digest('hex')
    .slice(0, HEX_DIGITS);
}

/** JSON with sorted keys. What JSON leaves out (`undefined`) is left out here too. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === 'object' && value !== null) return mapOf(canonicalFields(value));
  return JSON.stringify(value) ?? 'null';
}

/** The fields of a map with their canonical texts, in no order. */
function canonicalFields(map: object): [field: string, text: string][] {
  const present = Object.entries(map).filter(([, value]) => value !== undefined);
  return present.map(([field, value]) => [field, canonical(value)]);
}

function mapOf(fields: [field: string, text: string][]): string {
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([field, text]) => `${JSON.stringify(field)}:${text}`).join()}}`;
}
