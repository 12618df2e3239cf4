import { hash } from 'node:crypto';
import type { AppRecord } from '../../protocol/info.ts';
import { isLikeAbsent, OPTIONAL_FIELDS, type OptionalField } from '../../protocol/optional-fields.ts';

/** The defaults of fields, fixed forever: a field that equals its default counts as absent, so new fields change no hash. */
const DEFAULTS: Readonly<Record<string, string>> = {
  starting_ports: '[]',
  env_vars: '{}',
  volumes: '[]',
  devices: '[]',
  privileged: 'false',
};

const FIRST = [
  'container_image',
  'starting_ports',
  'env_vars',
  'volumes',
  'networks',
  'devices',
  'privileged',
];
/** Not `pull_policy`, which a container does not show. */
const SECOND: readonly OptionalField[] = [
  'command',
  'entrypoint',
  'user',
  'working_dir',
  'labels',
  'healthcheck',
  'cpus',
  'memory',
  'shm_size',
  'read_only',
  'tmpfs',
  'cap_add',
  'cap_drop',
  'security_opt',
  'ulimits',
  'extra_hosts',
  'init',
  'stop_signal',
  'stop_grace_period',
  'restart',
  'logging',
];

/**
 * The sets of fields that versions of the worker have known, newest first, without those that a container does not show:
 * how many there are, and how they are replaced. A label begins with the number of its set, so that a worker that has
 * learned a field still recognises the containers of an older one.
 */
const FIELD_SETS: readonly { set: number; fields: readonly string[] }[] = [
  { set: 2, fields: [...FIRST, ...SECOND] },
  { set: 1, fields: FIRST },
];

/**
 * Returns the content of an app, by each set of fields, newest first: `<set>:<SHA-256 of canonical JSON>`. It is a hash
 * of what the manager said, not of what is sent to the engine, so that no new version of the worker restarts a container.
 */
export function contentsOf(record: AppRecord): string[] {
  return FIELD_SETS.map(({ set, fields }) => `${set}:${hashOf(record, fields)}`);
}

/**
 * Returns the fields of an app that the worker which made a container did not know, by the label of its content: the
 * container is as if the app did not have them.
 */
export function fieldsUnknownTo(label: string, record: AppRecord): string[] {
  const [newest] = FIELD_SETS;
  const own = FIELD_SETS.find(({ set }) => label.startsWith(`${set}:`));
  if (own === undefined || own === newest) return [];
  return OPTIONAL_FIELDS.filter(
    (field) =>
      newest?.fields.includes(field) && !own.fields.includes(field) && !isLikeAbsent(field, record[field]),
  );
}

function hashOf(record: AppRecord, fields: readonly string[]): string {
  const values = fields.toSorted().flatMap((field) => {
    const value = (record as Readonly<Record<string, unknown>>)[field];
    if (isOptional(field) && isLikeAbsent(field, value)) return [];
    const text = canonical(value);
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

function isOptional(field: string): field is OptionalField {
  return (OPTIONAL_FIELDS as readonly string[]).includes(field);
}
