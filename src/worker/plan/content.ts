import { hash } from 'node:crypto';
import type { AppRecord } from '../../protocol/info.ts';

/** The defaults of fields, fixed for ever: a field that equals its default counts as absent, so new fields change no hash. */
const DEFAULTS: Readonly<Record<string, string>> = {
  starting_ports: '[]',
  env_vars: '{}',
  volumes: '[]',
  devices: '[]',
  privileged: 'false',
};

/**
 * The sets of fields that versions of the worker have known, newest first, without those that a container does not show:
 * how many there are, and how they are replaced. A label begins with the number of its set, so that a worker that has
 * learned a field still recognises the containers of an older one.
 */
const FIELD_SETS: readonly { set: number; fields: readonly string[] }[] = [
  {
    set: 1,
    fields: ['container_image', 'starting_ports', 'env_vars', 'volumes', 'networks', 'devices', 'privileged'],
  },
];

/**
 * Returns the content of an app, by each set of fields, newest first: `<set>:<SHA-256 of canonical JSON>`. It is a hash
 * of what the manager said, not of what the engine is told, so that no new version of the worker restarts a container.
 */
export function contentsOf(record: AppRecord): string[] {
  return FIELD_SETS.map(({ set, fields }) => `${set}:${hashOf(record, fields)}`);
}

function hashOf(record: AppRecord, fields: readonly string[]): string {
  const values = fields.toSorted().flatMap((field) => {
    const text = canonical((record as Readonly<Record<string, unknown>>)[field]);
    return text === undefined || text === DEFAULTS[field] ? [] : [`${JSON.stringify(field)}:${text}`];
  });
  return hash('sha256', `{${values.join()}}`);
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
