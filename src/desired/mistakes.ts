import type { Kind } from '../protocol/name.ts';
import { type Fields, isMapValue } from '../protocol/values.ts';
import { nounOf } from './explain.ts';
import { DESCRIPTORS } from './kinds.ts';
import type { ProblemCode } from './problem.ts';

/** A mistake that explains all problems of a file, so that they need not be listed. */
interface Mistake {
  /** The key at which it shows; empty for the whole file. */
  path: readonly string[];
  code: ProblemCode;
  message: string;
}

/** Returns the mistake of an invalid file as a whole; null if its fields have to be checked one by one. */
export function mistakeOf(kind: Kind, value: unknown): Mistake | null {
  if (value === null || value === undefined)
    return { path: [], code: 'field-missing', message: `the file is empty; ${needsOf(kind)}` };
  if (!isMapValue(value)) return { path: [], code: 'field-invalid', message: notMap(kind, value) };
  return composeFile(value) ?? otherKind(kind, value);
}

function needsOf(kind: Kind): string {
  return `${DESCRIPTORS[kind].one} needs ${DESCRIPTORS[kind].needs}`;
}

function notMap(kind: Kind, value: unknown): string {
  const isGlued = DESCRIPTORS[kind].fields.some((field) => String(value).startsWith(`${field}:`));
  const advice = isGlued ? 'put a space after the colon of each key' : needsOf(kind);
  const hint = isGlued || Array.isArray(value) ? `; ${advice}` : '';
  return `the file must be a map of fields, not ${nounOf(value)}${hint}`;
}

function composeFile(value: Fields): Mistake | null {
  if (!isMapValue(value['services']) || 'container_image' in value || 'apps' in value) return null;
  const message =
    'this is a file of Docker Compose; move it out of the folder, and turn it into apps with "holdfast import --from-compose FILE"';
  return { path: ['services'], code: 'field-unknown', message };
}

function otherKind(kind: Kind, value: Fields): Mistake | null {
  const own = DESCRIPTORS[kind];
  if (own.telling.some((field) => field in value)) return null;
  const others = Object.values(DESCRIPTORS).flatMap((other) =>
    other.telling.map((field) => ({ ...other, field })),
  );
  const other = others.find(({ field }) => field in value && !own.fields.includes(field));
  if (other === undefined) return null;
  const { field, noun, folder } = other;
  const message = `${field} is a field of ${noun}s, and this is the file of ${own.one}; move it to ${folder}/`;
  return { path: [field], code: 'field-unknown', message };
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
  'variables',
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
    if (DESCRIPTORS[kind].fields.includes(key))
      above = item === null && COLLECTIONS.includes(key) ? key : null;
    else if (above !== null) found.set(above, [...(found.get(above) ?? []), key]);
  }
  return found;
}
