import type * as z from 'zod';
import type { AppDefaults } from '../protocol/app.ts';
import type { Kind } from '../protocol/name.ts';
import type { Fields } from '../protocol/values.ts';
import { type Content, namedIn } from './content.ts';
import { check, explain } from './explain.ts';
import { DESCRIPTORS } from './kinds.ts';
import { mistakeOf, notIndented } from './mistakes.ts';
import { fileProblem, type TextProblem } from './problem.ts';
import {
  decodeText,
  MAX_PROBLEMS,
  type Position,
  type ReadResult,
  readYaml,
  type YamlDocument,
} from './yaml/document.ts';

/**
 * The content of one file, or its problems. `memberPositions` has the position in the file of each object that it names
 * (`namedIn`), for problems that depend on other files.
 */
export type ParsedFile =
  | { ok: true; content: Content; memberPositions: readonly Position[] }
  | { ok: false; problems: TextProblem[] };

/** The `memberPositions` of an object without members. */
export const NO_POSITIONS: readonly Position[] = [];

const LFS_POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\//;

/** Parses one object's file. Never throws; depends only on its arguments. */
export function parseObject(kind: Kind, bytes: Uint8Array, defaults: AppDefaults): ParsedFile {
  const text = decodeText(bytes);
  return text.ok ? parseObjectText(kind, text.value, defaults) : text;
}

/** `parseObject` for a text, such as an edited one. */
export function parseObjectText(kind: Kind, text: string, defaults: AppDefaults): ParsedFile {
  const fields = readFields(kind, text);
  if (!fields.ok) return fields;
  const { document, value } = fields.value;
  const content = compact(DESCRIPTORS[kind].complete(value, defaults));
  const { names } = namedIn(content);
  const memberPositions =
    names.length === 0
      ? NO_POSITIONS
      : names.map((_, index) => document.positionOf(kind === 'device' ? ['device_group'] : ['apps', index]));
  return { ok: true, content, memberPositions };
}

/**
 * Returns a copy that takes less than half of the memory: a string that is cut out of a text keeps the whole text alive, and
 * a list that is filled item by item has spare capacity. JSON loses nothing: the store also keeps contents as JSON.
 */
function compact(content: Content): Content {
  return JSON.parse(JSON.stringify(content)) as Content;
}

/** Reads the fields of a file, without defaults, and the document that they come from. */
function readFields(kind: Kind, text: string): ReadResult<{ document: YamlDocument; value: Fields }> {
  if (LFS_POINTER.test(text)) {
    const message = 'is a Git LFS pointer, not the file itself; remove it from LFS and commit the text';
    return { ok: false, problems: [fileProblem('file-lfs-pointer', message)] };
  }
  const document = readYaml(text);
  return document.ok ? checkFields(kind, document.value) : document;
}

function checkFields(
  kind: Kind,
  document: YamlDocument,
): ReadResult<{ document: YamlDocument; value: Fields }> {
  const parsed = check<Fields>(DESCRIPTORS[kind].schemas.file, contentOf(kind, document));
  if (parsed.success) return { ok: true, value: { document, value: parsed.data } };
  const mistake = mistakeOf(kind, document.value);
  if (mistake === null) return { ok: false, problems: fieldProblems(kind, document, parsed.error) };
  const { path, code, message } = mistake;
  return { ok: false, problems: [{ ...document.positionOf(path), code, message }] };
}

/** An empty file is an object without fields, where there can be one. */
function contentOf(kind: Kind, { value }: YamlDocument): unknown {
  return DESCRIPTORS[kind].required === null ? (value ?? {}) : value;
}

function fieldProblems(kind: Kind, document: YamlDocument, error: z.ZodError): TextProblem[] {
  const emptied = notIndented(kind, document.value as Fields);
  const lost = [...emptied.values()].flat();
  const problems = explain(error.issues, DESCRIPTORS[kind].fields, MAX_PROBLEMS + lost.length)
    .filter(({ path: [key = ''] }) => !lost.includes(`${key}`))
    .slice(0, MAX_PROBLEMS);
  return problems.map(({ path, kind: problem, message }) => ({
    ...document.positionOf(path),
    code: `field-${problem}` as const,
    message: `${fieldName(path)} ${emptied.has(fieldName(path)) ? NOT_INDENTED : message}`,
  }));
}

const NOT_INDENTED = 'has no value, since the lines below it are not indented; put two spaces before each';

/** Returns a path in the usual notation: `starting_ports[0]`, `env_vars.PORT`. */
export function fieldName(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}
