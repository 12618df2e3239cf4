import { hash } from 'node:crypto';
import type { Content } from '../desired/content.ts';
import { appDefaults } from '../protocol/app.ts';
import type { Kind } from '../protocol/name.ts';

/** 128 bits of SHA-256. */
const HEX_DIGITS = 32;

/**
 * The built-in defaults of an app, as canonical text by field; a hash leaves out fields with these values. The setting
 * `DEFAULT_NETWORKS` must not affect them, because hashes in the record of ids outlive a change of the setting.
 */
const BUILT_IN_DEFAULTS: ReadonlyMap<string, string> = new Map(
  canonicalFields(appDefaults(['nebula', 'bridge'])),
);

/**
 * Returns a digest of the content that devices see, as 32 hex digits. It is the same for equal contents and different
 * for all others; the order of keys in maps does not matter, that of lists does. An app's field that equals its
 * built-in default counts as absent, so that a version of the product that adds a field with a default changes no hash.
 */
export function contentHash(kind: Kind, content: Content): string {
  const fields = canonicalFields(content).filter(
    ([field, text]) => kind !== 'app' || text !== BUILT_IN_DEFAULTS.get(field),
  );
  return hash('sha256', `${kind} ${mapOf(fields)}`, 'hex').slice(0, HEX_DIGITS);
}

/** Returns JSON with sorted keys. Fields that are `undefined` are left out, as in all JSON. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value === 'object' && value !== null) return mapOf(canonicalFields(value));
  return JSON.stringify(value) ?? 'null';
}

/** Returns the fields of a map with their canonical texts, in no particular order. */
function canonicalFields(map: object): [field: string, text: string][] {
  const present = Object.entries(map).filter(([, value]) => value !== undefined);
  return present.map(([field, value]) => [field, canonical(value)]);
}

function mapOf(fields: [field: string, text: string][]): string {
  const sorted = fields.sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${sorted.map(([field, text]) => `${JSON.stringify(field)}:${text}`).join()}}`;
}
