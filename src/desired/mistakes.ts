import type { Kind } from '../protocol/name.ts';
import { type Fields, isMapValue } from '../protocol/values.ts';
import { nounOf } from './explain.ts';
import { FIELDS } from './fields.ts';
import type { ProblemCode } from './problem.ts';

/** A mistake that explains all problems of a file, so that they need not be listed. */
interface Mistake {
  /** The key at which it shows; empty for the whole file. */
  path: readonly string[];
  code: ProblemCode;
  message: string;
}

const NEEDS: Readonly<Record<Kind, string>> = {
  app: 'an app needs at least container_image, such as "container_image: nginx:1.27"',
  device_group: 'a device group needs apps, such as "apps: [web]"',
};

/** Returns the mistake of an invalid file as a whole; null if its fields have to be checked one by one. */
export function mistakeOf(kind: Kind, value: unknown): Mistake | null {
  if (value === null || value === undefined)
    return { path: [], code: 'field-missing', message: `the file is empty; ${NEEDS[kind]}` };
  if (!isMapValue(value)) return { path: [], code: 'field-invalid', message: notMap(kind, value) };
  return composeFile(value) ?? otherKind(kind, value);
}

function notMap(kind: Kind, value: unknown): string {
  const isGlued = FIELDS[kind].some((field) => String(value).startsWith(`${field}:`));
  const advice = isGlued ? 'put a space after the colon of each key' : NEEDS[kind];
  const hint = isGlued || Array.isArray(value) ? `; ${advice}` : '';
  return `the file must be a map of fields, not ${nounOf(value)}${hint}`;
}

function composeFile(value: Fields): Mistake | null {
  if (!isMapValue(value['services']) || 'container_image' in value || 'apps' in value) return null;
  const message =
    'this is a file of Docker Compose; move it out of the folder, and turn it into apps with "holdfast import --from-compose FILE"';
  return { path: ['services'], code: 'field-unknown', message };
}

/** The field that tells the kinds apart, and how to put a file in its place. */
const OTHER_KIND: Readonly<Record<Kind, { own: string; field: string; message: string }>> = {
  app: {
    own: 'container_image',
    field: 'apps',
    message: 'apps is a field of device groups, and this is the file of an app; move it to device-groups/',
  },
  device_group: {
    own: 'apps',
    field: 'container_image',
    message: 'container_image is a field of apps, and this is the file of a device group; move it to apps/',
  },
};

function otherKind(kind: Kind, value: Fields): Mistake | null {
  const { own, field, message } = OTHER_KIND[kind];
  return field in value && !(own in value) ? { path: [field], code: 'field-unknown', message } : null;
}

/** The fields that are lists or maps. */
const COLLECTIONS = [
  'starting_ports',
  'containers_per',
  'env_vars',
  'volumes',
  'networks',
  'devices',
  'apps',
  'command',
  'entrypoint',
  'labels',
  'healthcheck',
  'tmpfs',
  'cap_add',
  'cap_drop',
  'security_opt',
  'ulimits',
  'extra_hosts',
  'logging',
];

/**
 * Returns the fields without a value whose lines are probably not indented, with the unknown keys that follow each: YAML
 * takes these for fields of the file.
 */
export function notIndented(kind: Kind, value: Fields): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let above: string | null = null;
  for (const [key, item] of Object.entries(value)) {
    if (FIELDS[kind].includes(key)) above = item === null && COLLECTIONS.includes(key) ? key : null;
    else if (above !== null) found.set(above, [...(found.get(above) ?? []), key]);
  }
  return found;
}
