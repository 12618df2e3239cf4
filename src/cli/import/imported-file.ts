import type { Content } from '../../desired/content.ts';
import { newFilePath } from '../../desired/file.ts';
import { DESCRIPTORS } from '../../desired/kinds.ts';
import { parseObjectText } from '../../desired/parse.ts';
import { fileProblem, type Problem, withFile } from '../../desired/problem.ts';
import { DEPTH_HINT, decodeText } from '../../desired/yaml/document.ts';
import { renderYaml } from '../../desired/yaml/edit.ts';
import { MAX_DEPTH } from '../../desired/yaml/parse.ts';
import { APP_FIELDS, type AppDefaults } from '../../protocol/app.ts';
import type { Kind } from '../../protocol/name.ts';
import {
  type Fields,
  isDeeperThan,
  isEmptyCollection,
  isMapValue,
  sameValue,
} from '../../protocol/values.ts';

/** The file that is made from a manager's record. */
export interface ImportedFile {
  path: string;
  text: string;
  /** Undefined if the record has values that a file cannot have; then the problems name them. */
  content: Content | undefined;
  problems: Problem[];
}

type Translate = (value: unknown) => unknown;

/**
 * Translations of values that Nebula's public manager accepts and this one does not. Each value becomes what Nebula's
 * workers take it for. Any other value is left as it is and becomes a problem.
 */
const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  starting_ports: (ports) => (Array.isArray(ports) ? ports.flatMap(pairsOf) : ports),
  env_vars: (vars) => {
    if (isMapValue(vars)) return Object.fromEntries(Object.entries(vars).map(([k, v]) => [k, pythonText(v)]));
    return isEmptyCollection(vars) ? {} : vars;
  },
  devices: (devices) => (Array.isArray(devices) ? devices.map(sourceAndTarget) : devices),
};

/** Splits a map of several ports into maps of one port, whose values are texts. */
function pairsOf(port: unknown): unknown[] {
  if (!isMapValue(port)) return [port];
  return Object.entries(port).map(([host, container]) => ({
    [host]: Number.isSafeInteger(container) ? String(container) : container,
  }));
}

/** Returns the text that containers see. Python has its own ways to write fractions, so those are left to the user. */
function pythonText(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return Number.isSafeInteger(value) ? String(value) : value;
}

function sourceAndTarget(device: unknown): unknown {
  return typeof device === 'string' && !device.includes(':') ? `${device}:${device}` : device;
}

/** Makes the file of an object from its record. `apps` has an entry for each app of the manager. */
export function importedFile(
  kind: Kind,
  name: string,
  record: Fields,
  defaults: AppDefaults,
  apps: ReadonlyMap<string, unknown>,
): ImportedFile {
  const path = newFilePath(kind, name);
  const { container_image, docker_image = container_image, ...others } = record;
  const recorded: Fields = kind === 'app' ? { container_image: docker_image, ...others } : record;
  const deep = DESCRIPTORS[kind].fields.find((field) => isDeeperThan(MAX_DEPTH, recorded[field]));
  if (deep !== undefined) {
    const problem = fileProblem('yaml-depth', `${deep} ${DEPTH_HINT}`);
    return { path, text: '', content: undefined, problems: [withFile(path, problem)] };
  }
  const { apps: members } = record;
  const missingApps = Array.isArray(members) ? members.filter((app) => !apps.has(app)) : [];
  const fields = kind === 'app' ? appFields(recorded, defaults) : { apps: listWithout(members, missingApps) };
  const text = renderYaml(fields);
  const decoded = decodeText(Buffer.from(text));
  const parsed = decoded.ok ? parseObjectText(kind, text, defaults) : decoded;
  const problems = [
    ...(parsed.ok ? [] : parsed.problems).map(({ code, message }) =>
      withFile(path, fileProblem(code, message)),
    ),
    ...unknownFields(kind, recorded).map((field) =>
      omission(path, 'field-unknown', `${field} is not a known field`),
    ),
    ...missingApps.map((app) =>
      omission(path, 'app-unknown', `the manager itself has no app ${JSON.stringify(app)}`),
    ),
  ];
  return { path, text, content: parsed.ok ? parsed.content : undefined, problems };
}

/** Returns the translated fields of an app, without those that have their default. */
function appFields(recorded: Fields, defaults: AppDefaults): Fields {
  const fields = APP_FIELDS.map(
    (field) => [field, TRANSLATIONS[field]?.(recorded[field]) ?? recorded[field]] as const,
  );
  const isSet = (value: unknown, fallback: unknown): boolean =>
    value !== undefined && !sameValue(value, fallback);
  return Object.fromEntries(fields.filter(([field, value]) => isSet(value, (defaults as Fields)[field])));
}

/** Returns each member once, without missing apps, which the manager does not send to devices either. */
function listWithout(members: unknown, missingApps: readonly unknown[]): unknown {
  return Array.isArray(members) ? [...new Set(members)].filter((app) => !missingApps.includes(app)) : members;
}

/** Returns the fields of a record that a file cannot have, unless they are empty. */
function unknownFields(kind: Kind, recorded: Fields): string[] {
  const known = new Set([
    ...DESCRIPTORS[kind].fields,
    ...Object.values(DESCRIPTORS).flatMap(({ assigned }) => assigned),
  ]);
  const isSet = (value: unknown): boolean => value !== null && value !== '' && !isEmptyCollection(value);
  return Object.keys(recorded).filter((field) => !known.has(field) && isSet(recorded[field]));
}

function omission(path: string, code: 'field-unknown' | 'app-unknown', reason: string): Problem {
  return withFile(path, fileProblem(code, `${reason}; it is left out of the file`), 'warning');
}
