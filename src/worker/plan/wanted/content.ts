import { hash } from 'node:crypto';
import type { AppRecord } from '../../../protocol/info.ts';
import { isLikeAbsent, OPTIONAL_FIELDS, type OptionalField } from '../../../protocol/optional-fields.ts';

/** The defaults of fields, fixed forever: a field that equals its default counts as absent, so new fields change no hash. */
const DEFAULTS: Readonly<Record<string, string>> = {
  starting_ports: '[]',
  env_vars: '{}',
  volumes: '[]',
  devices: '[]',
  privileged: 'false',
};

/** The fields that every app has, except those that a container does not show: how many there are, and how they are replaced. */
const REQUIRED = [
  'container_image',
  'starting_ports',
  'env_vars',
  'volumes',
  'networks',
  'devices',
  'privileged',
];
const FIELDS = [...REQUIRED, ...OPTIONAL_FIELDS.filter((field) => field !== 'pull_policy')].toSorted();

/**
 * Returns the content of an app: `1:` and the SHA-256 of canonical JSON of all fields that a container shows. It is a hash
 * of what the manager said, not of what is sent to the engine, so that no new version of the worker restarts a container.
 */
export function contentOf(record: AppRecord): string {
  const values = FIELDS.flatMap((field) => {
    const value = (record as Readonly<Record<string, unknown>>)[field];
    if (isOptional(field) && isLikeAbsent(field, value)) return [];
    const text = canonical(value);
    return text === undefined || text === DEFAULTS[field] ? [] : [`${JSON.stringify(field)}:${text}`];
  });
  return `1:${hash('sha256', `{${values.join()}}`)}`;
}

/** Returns JSON with sorted keys; undefined for what JSON leaves out. */
function canonical(value: unknown): string | undefined {
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item) ?? 'null').join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const fields = entries.flatMap(([key, item]) => {
    const text = canonical(item);
    return text === undefined ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return `{${fields.join()}}`;
}

function isOptional(field: string): field is OptionalField {
  return (OPTIONAL_FIELDS as readonly string[]).includes(field);
}
