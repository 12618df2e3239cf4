import { APP_FIELDS, type AppDefaults } from '../desired/app.ts';
import type { Content } from '../desired/content.ts';
import { FIELDS, GIVEN_FIELDS } from '../desired/fields.ts';
import { newFilePath } from '../desired/file.ts';
import type { Kind } from '../desired/name.ts';
import { parseObjectText } from '../desired/parse.ts';
import { fileProblem, inFile, type Problem } from '../desired/problem.ts';
import { type Fields, isEmpty, isMapValue, sameValue } from '../desired/values.ts';
import { renderYaml } from '../desired/yaml/edit.ts';

/** The file that says what a manager's record says; no `content` where no file can. Problems name the file. */
export interface ImportedFile {
  path: string;
  text: string;
  content: Content | undefined;
  problems: Problem[];
}

type Translate = (value: unknown) => unknown;

/**
 * What the public manager of Nebula takes, and hands on to its workers, beside what is taken here. Each becomes what
 * those workers make of it; any other value stays as it is, and is told as a problem.
 */
const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  starting_ports: (ports) => (Array.isArray(ports) ? ports.flatMap(pairsOf) : ports),
  env_vars: (vars) => {
    if (isMapValue(vars)) return Object.fromEntries(Object.entries(vars).map(([k, v]) => [k, asPython(v)]));
    return isEmpty(vars) ? {} : vars;
  },
  devices: (devices) => (Array.isArray(devices) ? devices.map(bothSides) : devices),
};

/** A map of several ports as maps of one, each to a text. */
function pairsOf(port: unknown): unknown[] {
  if (!isMapValue(port)) return [port];
  return Object.entries(port).map(([host, container]) => ({
    [host]: Number.isSafeInteger(container) ? String(container) : container,
  }));
}

/** The text that containers see. Python writes fractions in ways of its own, so these are left to a person. */
function asPython(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return Number.isSafeInteger(value) ? String(value) : value;
}

function bothSides(device: unknown): unknown {
  return typeof device === 'string' && !device.includes(':') ? `${device}:${device}` : device;
}

/** Makes the file of an object. `apps` has the names of all apps that the manager has. */
export function importedFile(
  kind: Kind,
  name: string,
  record: Fields,
  defaults: AppDefaults,
  apps: ReadonlyMap<string, unknown>,
): ImportedFile {
  const path = newFilePath(kind, name);
  const { container_image, docker_image = container_image, ...others } = record;
  const said = kind === 'app' ? { container_image: docker_image, ...others } : record;
  const { apps: members } = record;
  const ghosts = Array.isArray(members) ? members.filter((app) => !apps.has(app)) : [];
  const fields = kind === 'app' ? appFields(said, defaults) : { apps: withoutAny(members, ghosts) };
  const text = renderYaml(fields);
  const parsed = parseObjectText(kind, text, defaults);
  const problems = [
    ...(parsed.ok ? [] : parsed.problems).map(({ code, message }) =>
      inFile(path, fileProblem(code, message)),
    ),
    ...unknownFields(kind, said).map((field) => left(path, 'field-unknown', `${field} is not a known field`)),
    ...ghosts.map((app) => left(path, 'app-unknown', `the manager itself has no app "${app}"`)),
  ];
  return { path, text, content: parsed.ok ? parsed.content : undefined, problems };
}

/** Without fields whose value is the default. */
function appFields(said: Fields, defaults: AppDefaults): Fields {
  const fields = APP_FIELDS.map(
    (field) => [field, TRANSLATIONS[field]?.(said[field]) ?? said[field]] as const,
  );
  const isSaid = (value: unknown, byDefault: unknown): boolean =>
    value !== undefined && !sameValue(value, byDefault);
  return Object.fromEntries(fields.filter(([field, value]) => isSaid(value, (defaults as Fields)[field])));
}

/** Each member once, but those that the manager leaves out when it tells devices. */
function withoutAny(members: unknown, ghosts: readonly unknown[]): unknown {
  return Array.isArray(members) ? [...new Set(members)].filter((app) => !ghosts.includes(app)) : members;
}

/** Fields that say something and have no place here; an empty one says nothing. */
function unknownFields(kind: Kind, said: Fields): string[] {
  const known = new Set([...FIELDS[kind], ...Object.values(GIVEN_FIELDS).flat()]);
  const isSaid = (value: unknown): boolean => value !== null && value !== '' && !isEmpty(value);
  return Object.keys(said).filter((field) => !known.has(field) && isSaid(said[field]));
}

function left(path: string, code: 'field-unknown' | 'app-unknown', why: string): Problem {
  return inFile(path, fileProblem(code, `${why}; it is left out of the file`), 'warning');
}
