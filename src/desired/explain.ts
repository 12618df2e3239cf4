import type * as z from 'zod';
import { closestName } from '../suggest.ts';
import { DESCRIPTORS } from './kinds.ts';

/** One problem of a value: its path, and what to do about it. */
export interface FieldProblem {
  path: readonly (string | number)[];
  kind: 'missing' | 'unknown' | 'invalid';
  /** A clause whose subject is the field: "must be a whole number, not text". */
  message: string;
}

type Issue = z.core.$ZodIssue;

const NOUNS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map of fields',
  record: 'a map',
  null: 'null (empty)',
  undefined: 'nothing',
};

/**
 * Names that fields have elsewhere, and their names here: in the API that this one descends from, and in Docker
 * Compose.
 */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  docker_image: 'container_image',
  image: 'container_image',
  ports: 'starting_ports',
  env: 'env_vars',
  environment: 'env_vars',
  mem_limit: 'memory',
};

/** Fields of Compose that people expect, and that have no counterpart. */
const LEFT_OUT = new Set([
  'build',
  'configs',
  'container_name',
  'depends_on',
  'dns',
  'domainname',
  'expose',
  'hostname',
  'links',
  'logging',
  'profiles',
  'secrets',
]);

/** What to write in place of fields of Compose in nested maps, by their paths. */
const WRITTEN_ELSE: Readonly<Record<string, string>> = {
  'healthcheck.disable': 'is written as test: ["NONE"] here',
};

/**
 * Checks a value with a schema. The issues of an error contain the wrong values, which {@link explain} needs. The first
 * attempt has no options, because zod copies them at each call, and in Node 20 code that meets objects of a new shape each
 * time takes twice as long.
 */
export function check<T>(schema: z.ZodType<T>, value: unknown): z.ZodSafeParseResult<T> {
  const parsed = schema.safeParse(value);
  return parsed.success ? parsed : schema.safeParse(value, { reportInput: true });
}

/**
 * Turns issues of {@link check} into messages for users, for files and request bodies alike. `known` are the names of all
 * fields. `most` limits the number of messages, since a file has room for thirty thousand unknown fields.
 */
export function explain(
  issues: readonly Issue[],
  known: readonly string[] = [],
  most = Number.POSITIVE_INFINITY,
): FieldProblem[] {
  return issues
    .slice(0, most)
    .flatMap((issue) => explainIssue(issue, known, most))
    .slice(0, most);
}

function explainIssue(issue: Issue, known: readonly string[], most: number): FieldProblem[] {
  const path = issue.path as (string | number)[];
  switch (issue.code) {
    case 'invalid_type':
      return [explainType(path, issue.expected, issue)];
    case 'unrecognized_keys':
      return issue.keys.slice(0, most).map((key) => ({
        path: [...path, key],
        kind: 'unknown',
        message:
          WRITTEN_ELSE[[...path, key].join('.')] ??
          ownMessage(issue) ??
          unknownField(key, path.length === 0 ? known : []),
      }));
    case 'invalid_key':
      return [{ path, kind: 'invalid', message: issue.issues[0]?.message ?? issue.message }];
    default:
      return [{ path, kind: 'invalid', message: issue.message }];
  }
}

function explainType(path: (string | number)[], expected: string, issue: Issue): FieldProblem {
  if (issue.input === undefined) {
    return { path, kind: path.length === 1 ? 'missing' : 'invalid', message: 'is required' };
  }
  const own = ownMessage(issue);
  const noun = nounOf(issue.input);
  // A message of the field that names the wrong type says itself what to write.
  if (own?.endsWith(`, not ${noun}`)) return { path, kind: 'invalid', message: own };
  const message = own ?? `must be ${NOUNS[expected] ?? expected}, not ${noun}`;
  return { path, kind: 'invalid', message: message + hintFor(expected, issue.input, path) };
}

/** The message, if our schema has its own for this issue; undefined if it is one of zod. */
function ownMessage({ message }: Issue): string | undefined {
  return /^(Invalid input|Unrecognized key)/.test(message) ? undefined : message;
}

/**
 * A hint on how to write the value that is probably meant. It does not show the value, which can be a secret, and which
 * can look different in the file: 1.1 can be written `1.10` there.
 */
function hintFor(expected: string, input: unknown, path: readonly (string | number)[]): string {
  if (expected === 'string' && (typeof input === 'number' || typeof input === 'boolean'))
    return '; write it in quotes';
  if (typeof input === 'string') return hintForText(expected, input);
  if (expected === 'record' && Array.isArray(input)) return '; write {NAME: "value"} in place of a list';
  const empty = input === null ? emptyOf(expected, path) : undefined;
  return empty === undefined ? '' : `; for an empty one write ${empty}`;
}

function hintForText(expected: string, input: string): string {
  if (expected === 'boolean') {
    const [, yes, no] = /^(?:(true|yes|on|y)|(false|no|off|n))$/i.exec(input) ?? [];
    const unquoted = /^(true|false)$/i.test(input) ? ' without quotes' : '';
    return yes !== undefined ? `; write true${unquoted}` : no !== undefined ? `; write false${unquoted}` : '';
  }
  const isNumber = (expected === 'number' || expected === 'int') && /^\d+(\.\d+)?$/.test(input);
  return isNumber ? '; write it without quotes' : '';
}

/** How an empty value of this type is written; undefined if an empty one is not allowed. */
function emptyOf(expected: string, path: readonly (string | number)[]): string | undefined {
  const isInMap = path.length > 1 && typeof path[path.length - 1] === 'string';
  if (expected === 'string' && isInMap) return '""';
  return expected === 'array' ? '[]' : expected === 'record' ? '{}' : undefined;
}

function unknownField(key: string, known: readonly string[]): string {
  const meant = OTHER_NAMES[key.toLowerCase()];
  if (meant !== undefined && known.includes(meant)) return `is called ${meant} here`;
  const kind = Object.values(DESCRIPTORS).find(({ telling: [field = ''] }) => known.includes(field));
  if (kind?.assigned.includes(key))
    return `does not belong in a file: ${kind.one} is named by its file name, and the manager assigns ids; remove it`;
  // With two mistakes allowed, `services` would stand for `devices`.
  const near = closestName(key, known, 1);
  if (near !== null) return `is not a known field; did you mean ${near}?`;
  if (LEFT_OUT.has(key) && known.includes('container_image'))
    return 'has no counterpart here; see docs/from-compose.md';
  return known.length === 0
    ? 'is not a known field'
    : `is not a known field; known fields are ${listOf(known)}`;
}

/** How many known fields a message names. */
const MOST_NAMED = 8;

function listOf(known: readonly string[]): string {
  const more = known.length - MOST_NAMED;
  return more < 2
    ? known.join(', ')
    : `${known.slice(0, MOST_NAMED).join(', ')} and ${more} more (docs/desired-state.md)`;
}

/** Returns the type of a value in words: "a list", "true or false". */
export function nounOf(value: unknown): string {
  const type = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
  return NOUNS[type] ?? type;
}
