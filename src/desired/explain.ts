import type * as z from 'zod';

/** One thing that is wrong with a value: at which path, and what to do about it. */
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

/** Names of fields in the API that this one descends from, and their names here. */
const FORMER_NAMES: Record<string, string> = { docker_image: 'container_image' };

/**
 * Turns what zod found into sentences for people, for files and request bodies alike. `known` are the names of all
 * fields. The schema must be run with `reportInput`, so that sentences can tell what was there instead.
 */
export function explain(issues: readonly Issue[], known: readonly string[] = []): FieldProblem[] {
  return issues.flatMap((issue) => explainIssue(issue, known));
}

function explainIssue(issue: Issue, known: readonly string[]): FieldProblem[] {
  const path = issue.path as (string | number)[];
  switch (issue.code) {
    case 'invalid_type':
      return [explainType(path, issue.expected, issue)];
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...path, key],
        kind: 'unknown',
        message: unknownField(key, path.length === 0 ? known : []),
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
  const own = issue.message.startsWith('Invalid input') ? undefined : issue.message;
  const message = own ?? `must be ${NOUNS[expected] ?? expected}, not ${NOUNS[typeName(issue.input)]}`;
  return { path, kind: 'invalid', message: message + quotingHint(expected, issue.input) };
}

/** The hint does not show the value in quotes: the number 1.1 may stand in the file as `1.10`. */
function quotingHint(expected: string, input: unknown): string {
  return expected === 'string' && (typeof input === 'number' || typeof input === 'boolean')
    ? '; write it in quotes'
    : '';
}

function unknownField(key: string, known: readonly string[]): string {
  const former = FORMER_NAMES[key];
  if (former !== undefined && known.includes(former)) return `is called ${former} here`;
  return known.length === 0
    ? 'is not a known field'
    : `is not a known field; known fields are ${known.join(', ')}`;
}

function typeName(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
