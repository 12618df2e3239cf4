import type * as z from 'zod';
import { APP_FIELDS, type App, type AppDefaults, AppFields, completeApp } from './app.ts';
import { DeviceGroup } from './device-group.ts';
import { fileProblem, type TextProblem } from './diagnostic.ts';
import { explain } from './explain.ts';
import type { Kind } from './name.ts';
import {
  decodeText,
  MAX_PROBLEMS,
  type Position,
  type ReadResult,
  readYaml,
  type YamlDocument,
} from './yaml/document.ts';
import { readPlain } from './yaml/plain.ts';

/** The content of one object, of the kind that its folder says. */
export type Content = App | DeviceGroup;

/** What one file's bytes mean. `members` are the places of a group's apps, for problems found later. */
export type ParsedFile =
  | { ok: true; content: Content; members: readonly Position[] }
  | { ok: false; problems: TextProblem[] };

/** Of what lists no apps. */
export const NO_MEMBERS: readonly Position[] = [];

/** A kind's schema and the fields that it knows. */
const KINDS = {
  app: { schema: AppFields, fields: APP_FIELDS as readonly string[] },
  device_group: { schema: DeviceGroup, fields: ['apps'] },
} as const;

const LFS_POINTER = /^version https:\/\/git-lfs\.github\.com\/spec\//;

/** Parses one object's file. Never throws; depends on nothing but its arguments. */
export function parseObject(kind: Kind, bytes: Uint8Array, defaults: AppDefaults): ParsedFile {
  const text = decodeText(bytes);
  return text.ok ? parseObjectText(kind, text.value, defaults) : text;
}

/** The same from text: what an edit produced is checked like a file. */
export function parseObjectText(kind: Kind, text: string, defaults: AppDefaults): ParsedFile {
  const fields = readFields(kind, text);
  if (!fields.ok) return fields;
  const { document, value } = fields.value;
  if (kind === 'app') {
    return { ok: true, content: onItsOwn(completeApp(value as AppFields, defaults)), members: NO_MEMBERS };
  }
  const group = value as DeviceGroup;
  return {
    ok: true,
    content: onItsOwn(group),
    members: group.apps.map((_, index) => document.positionOf(['apps', index])),
  };
}

/**
 * The same content in less than half of the memory: what comes from a text keeps all of it by each of its strings, and
 * lists that were filled one by one have room for more. Contents are what JSON can say; the store keeps them so.
 */
function onItsOwn<T extends Content>(content: T): T {
  return JSON.parse(JSON.stringify(content)) as T;
}

/** The fields as a file has them, before defaults, and the document that they came from. */
function readFields(
  kind: Kind,
  text: string,
): ReadResult<{ document: YamlDocument; value: AppFields | DeviceGroup }> {
  if (LFS_POINTER.test(text)) {
    const message = 'is a Git LFS pointer, not the file itself; take it out of LFS and commit the text';
    return { ok: false, problems: [fileProblem('file-lfs-pointer', message)] };
  }
  const plain = readPlain(text);
  const fields = plain === null ? null : checkFields(kind, plain);
  // A file with a problem is rare: the full parser has its places.
  if (fields?.ok === true) return fields;
  const document = readYaml(text);
  return document.ok ? checkFields(kind, document.value) : document;
}

function checkFields(
  kind: Kind,
  document: YamlDocument,
): ReadResult<{ document: YamlDocument; value: AppFields | DeviceGroup }> {
  const parsed = KINDS[kind].schema.safeParse(document.value ?? {}, { reportInput: true });
  if (parsed.success) return { ok: true, value: { document, value: parsed.data } };
  return { ok: false, problems: fieldProblems(kind, document, parsed.error) };
}

function fieldProblems(kind: Kind, document: YamlDocument, error: z.ZodError): TextProblem[] {
  const problems = explain(error.issues, KINDS[kind].fields).slice(0, MAX_PROBLEMS);
  return problems.map(({ path, kind: problem, message }) => ({
    ...document.positionOf(path),
    code: `field-${problem}` as const,
    message: path.length === 0 ? `the file ${message}` : `${fieldName(path)} ${message}`,
  }));
}

/** A path as people write it: `starting_ports[0]`, `env_vars.PORT`. */
export function fieldName(path: readonly (string | number)[]): string {
  return path
    .map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`))
    .join('');
}
